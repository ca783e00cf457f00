import torch


def edit_output(cur_out, delta, idx):
    i = 0
    cur_out[0][i, idx, :] += delta
    return cur_out


edit_output((torch.ones(1, 6, 8, device="cuda:1"),), torch.zeros(8, device="cuda:0"), 2)
