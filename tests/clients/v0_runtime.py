# SPDX-License-Identifier: MIT
"""The published RemoteRuntime, made the way OpenHands makes it: by config.toml and the environment."""
import logging
import os
import tempfile

os.environ.setdefault("LOG_LEVEL", "ERROR")

from openhands.core.config.utils import load_openhands_config  # noqa: E402
from openhands.events import EventStream  # noqa: E402
from openhands.events.action import CmdRunAction  # noqa: E402
from openhands.llm.llm_registry import LLMRegistry  # noqa: E402
from openhands.runtime import get_runtime_cls  # noqa: E402
from openhands.runtime.plugins import AgentSkillsRequirement, JupyterRequirement  # noqa: E402
from openhands.storage import get_file_store  # noqa: E402

CONFIG = """
[core]
runtime = "remote"
enable_browser = false
run_as_openhands = {run_as_openhands}

[sandbox]
remote_runtime_api_url = "{url}"
runtime_container_image = "{image}"
timeout = 60
keep_runtime_alive = {keep}
runtime_startup_env_vars = {{ STARTUP = "1" }}

[mcp]
stdio_servers = [{{ name = "a", command = "true" }}]
"""


def make_runtime(url, key, sid, image="any", run_as_openhands=True, keep=False, attach=False):
    """One client of its own, as another process of OpenHands would be."""
    logging.disable(logging.CRITICAL)
    os.environ["SANDBOX_API_KEY"] = key
    place = tempfile.mkdtemp()
    with open(place + "/config.toml", "w", encoding="utf-8") as f:
        f.write(CONFIG.format(url=url, image=image, keep=str(keep).lower(),
                              run_as_openhands=str(run_as_openhands).lower()))
    config = load_openhands_config(set_logging_levels=False, config_file=f.name)
    kind = get_runtime_cls(config.runtime)
    assert kind.__module__ == "openhands.runtime.impl.remote.remote_runtime", kind
    return kind(config, EventStream(sid, get_file_store("local", place)), LLMRegistry(config), sid=sid,
                plugins=[AgentSkillsRequirement(), JupyterRequirement()], env_vars={"GIVEN": "a \"b\" c"},
                attach_to_existing=attach, headless_mode=True)


def run(runtime, command, timeout=None, **args):
    action = CmdRunAction(command=command, **args)
    if timeout:
        action.set_hard_timeout(timeout)
    return runtime.run_action(action)
