"""What is wrong: the codes, and in which words it is said."""
