"""What a DeepSpeed of 2024 expects of libraries that have dropped it since: imported before it.

DeepSpeed 0.14 reads ``numpy.BUFSIZE`` (gone in numpy 2) and imports private names of torch's elastic agent (gone in
torch 2.4); it calls neither here.
"""

import numpy
import torch.distributed.elastic.agent.server.api as agent

numpy.BUFSIZE = 8192
agent._get_socket_with_port = None
agent.log = agent.logger
