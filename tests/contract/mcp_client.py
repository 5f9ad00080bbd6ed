"""The hub's tools, called by the reference client of MCP for Python: over HTTP, and through hubctl mcp."""

import os
import re

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

NAMES = ["notify", "ask", "answer", "claim", "inbox", "sessions", "wait"]
HUB, HUBCTL = os.environ["HUB"], os.environ["HUBCTL"]
HEADERS = {"Authorization": f"Bearer {os.environ['TOKEN']}"}


async def call_all(client: Client, name: str) -> None:
    async def call(tool: str, **arguments: object) -> str:
        result = await client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content)
        assert not result.is_error, text
        return text

    assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
    for prompt in (await client.list_prompts()).prompts:
        assert len((await client.get_prompt(prompt.name)).messages) == 1
    assert '"msg":"hello"' in await call("notify", message="hello", to=name)
    assert '"msg":"hello"' not in await call("sessions")
    asked = await call("ask", question="Which port?", to="boss", options=["1", "2"])
    assert re.match(r"Question \d+ is stored", asked), asked
    post = {"type": "question", "from": "asker", "to": name, "msg": "Which db?"}
    question = httpx2.post(f"{HUB}/notify", json=post, headers=HEADERS).json()["id"]
    await call("claim", id=question)
    assert (await call("answer", id=question, answer="2")).startswith("Answered")
    assert (await call("inbox")).startswith("No notifications are pending for you")
    assert (await call("wait", seconds=0)).startswith("Nothing arrived")
    refused = await client.call_tool("answer", {"id": question, "answer": "1"})
    assert refused.is_error and "question_settled" in refused.content[0].text
    try:
        await client.call_tool("rm", {})
    except MCPError as error:
        assert "no tool 'rm'" in str(error), error
    else:
        raise AssertionError("a tool that does not exist was called")


async def main() -> None:
    # "auto" finds 2026-07-28, "legacy" speaks the newest version with a handshake.
    for mode, version in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
        name = f"py-http-{mode}"
        async with httpx2.AsyncClient(headers=HEADERS) as http:
            transport = streamable_http_client(f"{HUB}/mcp?session={name}", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == version, client.protocol_version
                await call_all(client, name)
        name = f"py-stdio-{mode}"
        env = {"HUB_SESSION": name, "HUB_PROJECT": "default", "HUB_STATE_DIR": os.environ["HUB_STATE_DIR"]}
        hubctl = StdioServerParameters(command=HUBCTL, args=["mcp"], env=env)
        async with Client(hubctl, mode=mode) as client:
            assert client.protocol_version == version, client.protocol_version
            await call_all(client, name)


anyio.run(main)
