"""Opens the device of the virtual machine with pyverbs, and registers memory there."""
import os

from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE
from pyverbs.mr import MR
from pyverbs.pd import PD

with Context(name=os.environ["SOFTRDMA_DEVICE"]) as context, PD(context) as domain:
    with MR(domain, 4096, IBV_ACCESS_LOCAL_WRITE) as region:
        print(f"{context.name}: lkey {region.lkey}, port state {context.query_port(1).state}")
