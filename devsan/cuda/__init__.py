"""What Python expects of CUDA under emulation: the names of ``torch._C`` on which torch.cuda's own files stand.

One module a noun. Each offers the functions and classes that torch's C++ provides in a CUDA build, answered by
``devsan._core``; `devsan.cuda.surface` puts them in place and takes them away again.
"""
