from torch import nn

model = nn.Sequential(nn.Linear(2, 2, device="meta"))
model.to("cuda:0")
