from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise RuntimeError(  # torch's own would need CUDA in a forked process
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        )


for _ in DataLoader(Points(), num_workers=1):
    pass
