-- The functions stay: the intake that calls them is left as it is on the way back, and a call of what is not there would
-- keep even mail from being enqueued. The way forth makes them anew.
SELECT 1;
