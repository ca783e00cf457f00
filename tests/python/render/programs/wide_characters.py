import torch

预测, 标签 = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
误差 = (预测 - 标签).abs()  # 预测与标签不在同一设备
