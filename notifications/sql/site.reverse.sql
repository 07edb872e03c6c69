DROP FUNCTION notifyops_private.site_trouble_v1(text);
DROP FUNCTION notifyops_private.site_here_v1();
