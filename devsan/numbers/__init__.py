"""What a program computes, and whether another run of it computes the same.

``observer`` keeps losses, gradients, weights and outputs while a program runs, ``host_reads`` the numbers that it takes
out of tensors, ``calls`` what it calls where it keeps nothing, ``digest`` says what is kept of a tensor, ``comparison``
compares what two runs left, and ``reference`` lets a run pass that computes what one device would, with the help of
``one_place`` where one GPU is to hold everything.
"""
