# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # of whoever sources it
# OpenHands' own headless entry point with a scripted model: an agent that works in a session. Sourced by
# tests/clients/run.

headless_config() { # PORT of the model
	cat <<-END
		[core]
		runtime = "remote"
		enable_browser = false
		max_iterations = 10
		file_store_path = "$at/store"

		[agent]
		enable_browsing = false

		[llm]
		model = "openai/scripted"
		base_url = "http://127.0.0.1:$1/v1"
		api_key = "none"
		native_tool_calling = true

		[sandbox]
		remote_runtime_api_url = "$api"
		runtime_container_image = "worktree:$work/repo"
		keep_runtime_alive = true
	END
}

headless_script() {
	cat <<-END
		[["execute_bash", {"command": "echo was \$(cat version); sed -i s/two/three/ version", "security_risk": "LOW"}],
		 ["str_replace_editor", {"command": "create", "path": "/workspace/notes", "file_text": "by the agent\n",
		  "security_risk": "LOW"}],
		 ["finish", {"message": "It is done."}]]
	END
}

# The session is paused when the entry point ends, and nobody has the repository's files changed.
diff_shows_its_work() {
	"$build/ohsandbox" diff --patch "$headless_id" >"$work/diff" || return 1
	cat "$work/diff"
	grep -q '^+by the agent' "$work/diff" && grep -q '^-two' "$work/diff" && grep -q '^+three' "$work/diff" &&
		[ "$(git_here status --porcelain)" = "" ]
}

headless() {
	local port said

	headless_script >"$place/script.json"
	exec {said}< <(inside "" /v0/bin/python "$at/model.py" "$at/script.json" 2>&1)
	model=$!
	read -r port <&"$said"
	cat <&"$said" >"$work/model.log" &
	headless_config "$port" >"$place/config.toml"
	result v0/headless/agent_comes_to_its_end inside "" timeout 200 env SANDBOX_API_KEY="$api_key" \
		LITELLM_LOCAL_MODEL_COST_MAP=True /v0/bin/python -m openhands.core.main \
		--config-file "$at/config.toml" -t "Do as the script says."
	kill "$model" && model=''
	result v0/headless/model_sees_what_was_done grep -q "was two" "$work/model.log"
	headless_id=$("$build/ohsandbox" list --json | sed -n 's/.*"id": *"\([0-9a-z]*\)".*/\1/p' | head -n 1)
	result v0/headless/diff_shows_its_work diff_shows_its_work
	result v0/headless/stop "$build/ohsandbox" stop "$headless_id"
	result v0/headless/nothing_is_left nothing_is_left
}
