"""What ran: the frames of a traceback, the values in them, and the operands of the call that was refused."""
