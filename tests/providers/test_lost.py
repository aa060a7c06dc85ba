"""Whether a connection that died had been kept, whoever carries the call."""

import pytest
from fixtures.model_server import ModelServer, Reply
from fixtures.wire import said

from bread_nb.providers.by_httpx import ByHttpx
from bread_nb.providers.client import Client
from bread_nb.providers.transport import Call, Lost, Transport


@pytest.mark.parametrize("make", [Client, ByHttpx])
async def test_a_kept_connection_that_died_is_told_from_a_new_one(make: type):
    carrier: Transport = make()
    dead, good = Reply(drop=True), Reply([said("good")])
    async with ModelServer(dead, good, dead, dead) as server:
        call = Call(service="oven", url=f"{server.url}/v1", headers={}, body=b"{}")
        with pytest.raises(Lost) as new:
            await carrier.send(call, fresh=False)
        answer = await carrier.send(call, fresh=False)
        while await answer.read():
            pass
        await answer.aclose()
        with pytest.raises(Lost) as kept:
            await carrier.send(call, fresh=False)
        with pytest.raises(Lost) as fresh:
            await carrier.send(call, fresh=True)
        await carrier.aclose()
    rested = [caught.value.rested for caught in (new, kept, fresh)]
    assert rested == [False, True, False]
