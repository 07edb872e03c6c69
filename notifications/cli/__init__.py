"""The verbs of `manage.py notify`, a file each: HELP, add_arguments(parser), run(options, terminal) → exit code."""
