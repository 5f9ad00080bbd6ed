"""The hub's tools, called by the reference client of MCP for Python: over HTTP, and through hubctl mcp."""

import os
import re
from typing import Literal

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult, Request, RequestParams, Result

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


class Task(Result):
    result_type: Literal["task"]
    task_id: str


class TaskState(Result):
    status: str
    result: CallToolResult | None = None


class GetTaskParams(RequestParams):
    task_id: str


class GetTask(Request[GetTaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: GetTaskParams
    name_param = "taskId"


class Tasks(ClientExtension):
    """Takes a task instead of a result, and asks for its state until it has ended."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.began = anyio.Event()

    def claims(self) -> list[ResultClaim[Task]]:
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task: Task, context: ClaimContext) -> CallToolResult:
        self.began.set()
        while True:
            request = GetTask(params=GetTaskParams(task_id=task.task_id))
            state = await context.session.send_request(request, TaskState)
            if state.result is not None:
                return state.result
            assert state.status == "working", state


async def wait_in_task(transport: object, tasks: Tasks, name: str) -> None:
    async with Client(transport, mode="auto", extensions=[tasks]) as client, anyio.create_task_group() as group:

        async def wait() -> None:
            result = await client.call_tool("wait", {})
            assert '"msg":"ready"' in "".join(block.text for block in result.content), result

        group.start_soon(wait)
        await tasks.began.wait()
        post = {"type": "message", "from": "asker", "to": name, "msg": "ready"}
        httpx2.post(f"{HUB}/notify", json=post, headers=HEADERS).raise_for_status()


async def answer_in_dialog(server: StdioServerParameters) -> None:
    async def answer(_: object, params: object) -> ElicitResult:
        assert "Which fruit?" in params.message, params
        return ElicitResult(action="accept", content={"answer": "quince"})

    async with Client(server, mode="auto", elicitation_callback=answer) as client:
        assert client.protocol_version == "2025-11-25", client.protocol_version
        post = {"type": "question", "from": "asker", "to": "person", "msg": "Which fruit?"}
        question = httpx2.post(f"{HUB}/notify", json=post, headers=HEADERS).json()["id"]
        path = f"{HUB}/questions/{question}?timeout=20"
        async with httpx2.AsyncClient(headers=HEADERS, timeout=30) as http:
            answered = (await http.get(path)).json()
        assert (answered.get("answer"), answered.get("by")) == ("quince", "person"), answered


def hubctl_mcp(name: str, *more: str) -> StdioServerParameters:
    env = {"HUB_SESSION": name, "HUB_PROJECT": "default", "HUB_STATE_DIR": os.environ["HUB_STATE_DIR"]}
    return StdioServerParameters(command=HUBCTL, args=["mcp", *more], env=env)


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
        async with Client(hubctl_mcp(name), mode=mode) as client:
            assert client.protocol_version == version, client.protocol_version
            await call_all(client, name)
    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        transport = streamable_http_client(f"{HUB}/mcp?session=py-task-http", http_client=http)
        await wait_in_task(transport, Tasks(), "py-task-http")
    await wait_in_task(hubctl_mcp("py-task-stdio"), Tasks(), "py-task-stdio")
    await answer_in_dialog(hubctl_mcp("py-dialog", "--dialogs"))


anyio.run(main)
