"""Arguments, values of arguments and options that the installed release of a library does not take."""
