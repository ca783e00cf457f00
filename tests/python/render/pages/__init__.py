"""What the tests of the HTML report share: runs written by hand, and a browser."""
