"""What a program computes, and whether another run of it computes the same.

``observer`` keeps losses, gradients, weights and outputs while a program runs, ``digest`` says what is kept of a
tensor, ``comparison`` compares what two runs left.
"""
