package hosts

// table is sorted by ID. A row that changes gets the date of its new source.
var table = []Host{
	{
		ID: "anthropic", Title: "the API of Anthropic",
		MaxName: 64, NameCut: "refuses the request", NoDots: true,
		MaxTools: 10_000, ToolsCut: "does not search among more",
		Source: "the API's documentation of tools: names are [a-zA-Z0-9_-]{1,64}; its tool search " +
			"takes 10,000 tools. Not checked here",
		Date: "2026-11",
	},
	{
		ID: "claude-code", Title: "Claude Code", Clients: []string{"claude-code"},
		Prefix:  "mcp__SERVER__",
		MaxName: 128, NameCut: "leaves the tool out", NoDots: true,
		MaxDescription: 4096, MaxInstructions: 2048, MaxResult: 50_000,
		Searches: true,
		Source: "measurements of versions 2.1.26x to 2.1.29x by others: descriptions are cut at " +
			"4,096 characters (16,384 if the tool is found by its search), instructions at 2,048; " +
			"results of more than 50,000 characters go to a file; the limit of 25,000 tokens of a " +
			"result is a setting. Not checked here",
		Date: "2026-11",
	},
	{
		ID: "codex", Title: "Codex", Clients: []string{"codex-mcp-client"},
		Prefix:  "mcp__SERVER__",
		MaxName: 64, NameCut: "cuts the name, and ends it with a hash", NoDots: true,
		Searches: true,
		Source: "openai/codex, mcp_connection_manager.rs; it searches by itself if there are more " +
			"than 100 tools, or by a setting (pull request 18097)",
		Date: "2026-08",
	},
	{
		ID: "copilot-cli", Title: "GitHub Copilot CLI",
		Clients: []string{"github-copilot-developer", "copilot-cli"},
		MaxName: 64, NameCut: "fails at the API of the model", NoDots: true,
		Source: "github/copilot-cli issue 4588: it defers tools for some models only; the length and " +
			"characters of names are those of the APIs behind it. Its prefix is not known",
		Date: "2026-08",
	},
	{
		ID: "cursor", Title: "Cursor", Clients: []string{"cursor-vscode", "cursor*"},
		Prefix:  "SERVER:",
		MaxName: 60, NameCut: "leaves the tool out",
		MaxTools: 80, ToolsCut: "leaves tools out",
		Source: "ComposioHQ/composio issue 2788: the names of server and tool have at most 60 " +
			"characters; Snowflake-Labs/mcp issue 77: 40 tools, later 80. The limit of tools may " +
			"have gone since; one character is counted between the names",
		Date: "2026-02",
	},
	{
		ID: "gemini", Title: "Gemini CLI", Clients: []string{"gemini-cli-mcp-client*", "gemini-cli"},
		Prefix:  "mcp_SERVER_",
		MaxName: 63, NameCut: "replaces the middle of the name, so that two tools can get one name",
		MaxResult: 40_000,
		Source:    "google-gemini/gemini-cli, mcp-tool.ts; results are cut by a setting",
		Date:      "2026-08",
	},
	{
		ID: "goose", Title: "Goose", Clients: []string{"goose", "goose-*"},
		Prefix:  "SERVER__",
		MaxName: 64, NameCut: "fails at the API of the model", NoDots: true,
		Source: "block/goose: the length and characters of names are those of the APIs behind it; " +
			"its warning above 50 tools was removed (pull request 10841)",
		Date: "2026-08",
	},
	{
		ID: "openai", Title: "the API of OpenAI",
		MaxName: 64, NameCut: "refuses the request", NoDots: true,
		MaxTools: 128, ToolsCut: "refuses the request",
		Source: "the API's documentation of functions: names are [a-zA-Z0-9_-]{1,64}, and a request " +
			"has at most 128. Not checked here",
		Date: "2026-11",
	},
	{
		ID: "opencode", Title: "opencode", Clients: []string{"opencode"},
		Prefix:  "SERVER_",
		MaxName: 64, NameCut: "fails at the API of the model", NoDots: true,
		Source: "sst/opencode: names are SERVER_TOOL; their length and characters are those of the " +
			"APIs behind it",
		Date: "2026-08",
	},
	{
		ID: "vscode", Title: "Visual Studio Code", Clients: []string{"Visual Studio Code*"},
		Prefix:  "mcp_SERVER_",
		MaxName: 64, NameCut: "cuts the name", NoDots: true,
		MaxTools: 128, ToolsCut: "refuses the request, unless it groups the tools",
		Source: "microsoft/vscode issues 243602 (64 characters) and 294055 (128 tools, groups from " +
			"64); it searches by itself with some models only",
		Date: "2026-03",
	},
}
