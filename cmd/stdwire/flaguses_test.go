package main

import "strings"

// A mode is a way to use a command, in which some of its flags have no effect.
type mode struct {
	name string
	args string // that select it, after the flag that is tried
	says string // is in the error in place of the flag; "" if the error names the flag
}

// A flagUse says in which modes of a command its flags have an effect.
type flagUse struct {
	modes []mode
	// Each line has flags, a colon, and the modes in which they have an effect; * is all modes. A
	// flag may have a value: -o=json.
	flags string
}

// The modes and flags of commands that use one server: stdwire's own, one from the configuration,
// at a URL, of a connection, or of a command. Words in upper case stand for
// files and addresses; [TestFlagsWithoutEffect] has them.
var (
	configuredModes = []mode{{name: "own"}, {name: "id", args: "-s files"},
		{name: "remote", args: "-s remote --config CONFIG"}, {name: "url", args: "--url URL"},
		{name: "command", args: "-- x"}}
	targetModes = append([]mode{{name: "connection", args: "@files"}}, configuredModes...)
	useModes    = append([]mode{{name: "servers", args: "--servers"}}, targetModes...)
	useFlags    = "\n--servers: own" + strings.NewReplacer("id remote", "id remote servers",
		"--max-message --sample: *",
		"--max-message: connection own id remote url command\n--sample: *").Replace(targetFlags)
	targetFlags = `
		-s --url: own
		--config --input: id remote
		--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
		--root --write --allow-exec --allow-eval --confirm --tools: own
		--era --start-timeout --max-message --sample: *
		--env --server-logs: own id command
	`
	anyTarget = `
		-s --servers --config --input --url --header --token-file --tls-ca: *
		--tls-client-cert --tls-client-key --root --write --allow-exec --allow-eval: *
		--confirm --tools --era: *
		--start-timeout --max-message --sample --env --server-logs: *
	`
)

// The flags for clients over HTTP. Without --http they have no effect.
const httpModes = "http sse noauth token file named tls ca oauth card"

var httpFlags = `
	--no-auth: http sse tls card
	--http-host: ` + httpModes + `
	--http-sse: http noauth token file named tls ca oauth card
	--token-env: http sse named tls ca card
	--token-file: http sse named tls ca card
	--tokens: http sse token file tls ca oauth card
	--tls-cert --tls-key: http sse noauth token file named ca oauth card
	--tls-client-ca: tls token file named
	--oauth-issuer: http sse named tls ca card
	--oauth-audience --oauth-scope: oauth
	--card: http sse noauth token file named tls ca oauth
	--card-url --card-description: card
	--metrics-token-env: ` + httpModes + `
`

// overHTTP returns modes with clients over HTTP of a command with these arguments.
func overHTTP(more string) []mode {
	modes := []mode{{name: "http"}, {name: "sse", args: "--http-sse"},
		{name: "noauth", args: "--no-auth"},
		{name: "token", args: "--token-env STDWIRE_TEST_SECRET"},
		{name: "file", args: "--token-file FILE"}, {name: "named", args: "--tokens FILE"},
		{name: "tls", args: "--tls-cert FILE --tls-key FILE"},
		{name: "ca", args: "--tls-cert FILE --tls-key FILE --tls-client-ca FILE"},
		{name: "oauth", args: "--oauth-issuer https://a.example " +
			"--oauth-audience https://b.example"},
		{name: "card", args: "--card com.example/files"}}
	for i := range modes {
		modes[i].args = strings.TrimSpace("--http ADDRESS " + modes[i].args + " " + more)
	}
	return modes
}

// after returns modes with words before the arguments of each.
func after(words string, modes []mode) (all []mode) {
	for _, m := range modes {
		m.args = strings.TrimSpace(words + " " + m.args)
		all = append(all, m)
	}
	return all
}

// always is the use of flags that have an effect in all modes.
func always(flags string) []flagUse { return []flagUse{{flags: flags + ": *"}} }

// flagUses has an element for each command with flags. Of several uses of a command, each has all
// its flags.
var flagUses = map[string][]flagUse{
	"serve": {{
		modes: append([]mode{{name: "stdio"}, {name: "gateway", args: "--servers"},
			{name: "audit", args: "--servers --audit FILE"},
			{name: "rotated", args: "--servers --audit FILE --audit-size 1"},
			{name: "webhook", args: "--servers --before https://x.example"},
			{name: "profile", args: "--profile x"},
			{name: "policy", args: "--policy CONFIG"}}, overHTTP("")...),
		flags: `
			--root --write --allow-exec --allow-eval --skills --config --state-key-env: *
			--state-key-file: *
			--store: gateway audit rotated webhook profile ` + httpModes + `
			--store-password-env --store-password-file --store-prefix:
			--replica-url --replica-ca --replica-cert --replica-key:
			--log-format --log-level --otlp --metrics --policy: *
			--policy-dry-run: gateway audit rotated webhook profile policy
			--confirm --tools: stdio policy ` + httpModes + `
			--input --pins --wait-lists --warm-lists: gateway audit rotated webhook profile
			--discover --fit-results: gateway audit rotated webhook profile
			--no-prefix --no-desc-prefix --allow-host: gateway audit rotated webhook profile
			--audit --before --after: gateway audit rotated webhook profile
			--hook-secret-env --hook-secret-file: webhook
			--profile --servers: stdio policy ` + httpModes + `
			--audit-values --audit-size: audit rotated
			--audit-keep: rotated
			--http: stdio gateway audit rotated webhook profile policy
			--credentials-key-env --credentials-key-file --credentials-file --public-url:
		` + httpFlags, // these also serve --servers with --http, which has no column
	}},
	"ls": {{useModes, "-o --timeout --cost: *" + useFlags},
		{[]mode{{name: "all"}, {name: "kind", args: "prompts"}},
			"-o=raw: kind\n--cost: all\n--timeout: *" + anyTarget}},
	"find": {{after("x", append([]mode{{name: "servers"}, {name: "own", args: "--root ."}},
		without(targetModes, "own")...)), `
			-o --timeout --limit --read-only --explain: *
			--eval:
			--servers --config --input: servers id remote
			-s --url: servers
			--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
			--root --write --allow-exec --allow-eval --confirm --tools: servers own
			--era --start-timeout --max-message: own id remote url command connection
			--sample: *
			--env --server-logs: own id command
		`}, {[]mode{{name: "find", args: "x"}, {name: "explain", args: "x --explain x"},
		{name: "eval", args: "--eval FILE"}}, `
			--limit --read-only: find
			--explain: find explain
			--eval: eval
			-o --timeout: *
		` + anyTarget}},
	"tools":       {{useModes, "-o --timeout --cost: *" + useFlags}},
	"read":        {{after("x:y", useModes), "-o --save --timeout --watch: *" + useFlags}},
	"prompt":      {{after("x", useModes), "-o --save --timeout: *" + useFlags}},
	"complete":    {{after("prompt x y", useModes), "-o: *" + useFlags}},
	"inspect":     {{useModes, "-o --timeout: *" + useFlags}},
	"shell":       {{useModes, "-o --save --timeout --trace: *" + useFlags}},
	"task list":   {{useModes, "-o --timeout: *" + useFlags}},
	"task get":    {{after("x", useModes), "--wait -o --timeout: *" + useFlags}},
	"task cancel": {{after("x", useModes), "-o --timeout: *" + useFlags}},
	"call": {
		{after("x", useModes), "-o -d --save --timeout --yes --no-validate --watch: *\n" +
			"--task --repeat --for --otlp --metrics: *\n--concurrency:" + useFlags},
		{after("x", []mode{{name: "once"}, {name: "repeated", args: "--repeat 2"},
			{name: "timed", args: "--for 1s"}, {name: "task", args: "--task"}}), `
			-o=raw --save --watch: once task
			-o=json -d --timeout --yes --no-validate --otlp --metrics: *
			--task: once
			--repeat --for: once repeated timed
			--concurrency: repeated timed
		` + anyTarget},
	},
	"skill get": {
		{after("x", useModes), "-o --save --timeout: *" + useFlags},
		{[]mode{{name: "skill", args: "x"}, {name: "file", args: "x y"},
			{name: "save", args: "x --save DIR"}}, `
			-o=json: skill
			-o=raw: skill file
			--save: skill
			--timeout: *
		` + anyTarget},
	},
	"test": {{after("CALLS", append([]mode{{name: "named"}, {name: "root", args: "--root ."}},
		targetModes[:1]...)), "-o --timeout: *" + `
			-s --url: named
			--config --input: named
			--header --token-file --tls-ca --tls-client-cert --tls-client-key:
			--root --write --allow-exec --allow-eval --confirm --tools: named root
			--era --start-timeout --max-message --sample: *
			--env --server-logs: named root
		`}, {after("CALLS", targetModes[2:]), "-o --timeout: *" + targetFlags}},
	"web": {{append([]mode{{name: "configuration"}, {name: "recording", args: "FILE"},
		{name: "gateway", args: "--gateway"}, {name: "tap", args: "--tap -- x"},
		{name: "builtin", args: "--root ."}}, without(targetModes, "own")...), `
			--listen --open: *
			--gateway -s --url: configuration
			--pid: gateway
			--tap: tap command
			--calls: configuration gateway builtin id remote url connection command
			--config --input: configuration id remote
			--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
			--root --write --allow-exec --allow-eval --confirm --tools: configuration builtin
			--era --start-timeout --max-message: builtin id remote url connection command
			--sample: configuration builtin id remote url connection command
			--env: builtin id command
			--server-logs:
		`}},
	"connect": {{after("@kept", append([]mode{{name: "foreground", args: "--foreground"}},
		configuredModes...)), `
			--idle --era --start-timeout --max-message --foreground: *
			--unguarded: foreground
			-s --url: own foreground
			--config --input: id remote
			--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
			--root --write --allow-exec --allow-eval --confirm --tools: own foreground
			--env: own foreground id command
			--sample --server-logs:
		`}},
	"connect list": always("-o"),
	"connections":  always("-o"),
	"disconnect":   always("--all"),
	"stop": {{[]mode{{name: "names", args: "@files"}, {name: "all", args: "--all"},
		{name: "server", args: "files"}}, "--all: all\n--pid: server"}},
	"status": {{[]mode{{name: "once"}, {name: "watch", args: "--watch"}},
		"-o: once\n--watch: *"}},
	"enable":  always("--pid --profile"),
	"disable": always("--pid --profile"),
	"restart": always("--pid"),
	"logs": {{[]mode{{name: "gateway", args: "files"}, {name: "connection", args: "@files"}},
		"-f: *\n--pid: gateway"}},
	"gateway status": {{[]mode{{name: "once"}, {name: "watch", args: "--watch"}},
		"-o: once\n--watch: *"}},
	"gateway enable":  always("--pid --profile"),
	"gateway disable": always("--pid --profile"),
	"gateway restart": always("--pid"),
	"gateway logs": {{[]mode{{name: "gateway", args: "files"}, {name: "connection", args: "@files"}},
		"-f: *\n--pid: gateway"}},
	"tap": {{[]mode{{name: "live", args: "--live -- x"}, {name: "file", args: "-o FILE -- x"}},
		"-o --live: *\n--redact --max-size: file"}},
	"tap show":   always("-o --method --id --errors --from --to"),
	"tap stats":  always("-o"),
	"tap replay": always("-o --ignore --timeout"),
	"bridge": {{append(overHTTP("-- x"), mode{name: "framing", args: "-- x"},
		mode{name: "url", args: "--url URL"},
		mode{name: "both", args: "--url URL --http ADDRESS"}), `
			--framing: framing
			--url: both
			--header --tls-ca --tls-client-cert --tls-client-key: url both
			--http: framing url
			--state-key-env --state-key-file --otlp --metrics --era --start-timeout: url both ` + httpModes + `
		` + strings.ReplaceAll(httpFlags, ": http ", ": both http ") +
		"--metrics-token-env --http-host: both\n--http-sse --tls-cert --tls-key --card: both\n--token-file: url"}},
	"doctor": {{[]mode{{name: "configuration"}, {name: "id", args: "x"},
		{name: "url", args: "--url URL"}, {name: "command", args: "-- x"}}, `
			-o --timeout --start-timeout --for: *
			--profile --config --input -s: configuration id
			--url: configuration
			--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
		`}},
	"scan": {{[]mode{{name: "own"}, {name: "configuration", args: "--servers"},
		{name: "profile", args: "--profile x"}, {name: "files", args: "--config CONFIG"},
		{name: "id", args: "-s files"}, {name: "url", args: "--url URL"},
		{name: "command", args: "-- x"}}, `
			-o --fail-on --ignore --timeout --era --start-timeout: *
			--servers --profile: own files
			-s: own files
			--config: own configuration profile files id
			--input: configuration profile files id
			--url: own
			--header --token-file --tls-ca --tls-client-cert --tls-client-key: url
			--root --write --allow-exec --allow-eval --confirm --tools: own
			--max-message --sample: own id url command
			--env --server-logs: own id command
		`}},
	"pin": {{[]mode{{name: "list", args: "list"}, {name: "all", args: "diff"},
		{name: "diff", args: "diff -s files"}, {name: "accept", args: "accept -s files"},
		{name: "rm", args: "rm -s files"}}, `
			-o: list all diff accept
			-s: all
			--config: all diff accept rm
			--input --timeout --era --start-timeout --max-message --sample: all diff accept
			--env --server-logs: all diff accept
			--url --header --token-file --tls-ca --tls-client-cert --tls-client-key:
			--root --write --allow-exec --allow-eval --confirm --tools:
		`}},
	"config check": always("-o --profile --config --input"),
	"config show":  always("--profile --config"),
	"config where": always("-o --config"),
	"config import": {{[]mode{{name: "print", args: "FILE"},
		{name: "into", args: "FILE --into FILE"}},
		"--into: *\n--force: into"}},
	"install": {{[]mode{{name: "list", says: "into which application?"},
		{name: "own", args: "cursor"}, {name: "id", args: "cursor -s files"},
		{name: "url", args: "cursor --name x --url URL"}, {name: "command", args: "cursor -- x"}}, `
			-o: list
			-s --url: own
			--config: id
			--name --workspace --print --force: own id url command
			--env: own id command
			--header: url
			--root --write --allow-exec --allow-eval --confirm --tools: own
		`}},
	"uninstall": always("--workspace --print"),
	"add": {{[]mode{{name: "url", args: "x URL"}, {name: "command", args: "x -- x"},
		{name: "from", args: "--from cursor"}}, `
			--from: from
			--env: command
			--header: url
			--config --print --force: *
			--workspace: *
		`}, {[]mode{{name: "file", args: "x URL --config FILE"},
		{name: "workspace", args: "x URL --workspace"}}, `
			--config: file
			--workspace: workspace
			--from:
			--env:
			--header --print --force: *
		`}},
	"remove": always("--config --print"),
	"list":   always("-o --profile --config"),
	"trust": {{[]mode{{name: "accept"}, {name: "revoke", args: "--revoke"}},
		"--revoke: *\n--yes: accept"}},
	"auth login": {{[]mode{{name: "id", args: "files"}, {name: "url", args: "URL"}},
		"--scope --timeout: *\n--config --input: id"}},
	"auth status": {{[]mode{{name: "all"}, {name: "id", args: "files"}, {name: "url", args: "URL"}},
		"-o: *\n--config --input: id"}},
	"auth users": {{[]mode{{name: "file"},
		{name: "store", args: "--store redis://x --state-key-env STDWIRE_TEST_SECRET"}}, `
			-o: *
			--credentials-file: file
			--store --store-password-env --store-password-file --store-prefix: store
			--state-key-env: store
			--state-key-file:
		`}},
	"auth revoke": {{[]mode{{name: "env", args: "x --credentials-key-env STDWIRE_TEST_SECRET"},
		{name: "file", args: "x --credentials-key-file FILE"}, {name: "none", args: "x"},
		{name: "store", args: "x --store redis://x --state-key-env STDWIRE_TEST_SECRET"}}, `
			--config --input: *
			--credentials-file: env file none
			--store --store-password-env --store-password-file --store-prefix: store
			--state-key-env: store
			--state-key-file:
			--credentials-key-env: env none
			--credentials-key-file: file none
		`}},
	"auth token add":  always("--expires --scope --group --claim --file"),
	"auth token list": always("-o --file"),
	"auth token revoke": {{[]mode{{name: "name", args: "x"}, {name: "principal", args: "x#y"}},
		"--file: *\n--for: principal"}},
	"auth logout": {{[]mode{{name: "id", args: "files"}, {name: "url", args: "URL"}},
		"--config --input: id"}},
	"bundle create": {{[]mode{{name: "directory", args: "."},
		{name: "program", args: "--name x --version 1.0.0 --description x --author x -- x"}}, `
			-o: *
			--exclude: directory
			--name --version --description --author: program
		`}},
	"bundle show":        always("-o"),
	"bundle run":         always("--set --sha256"),
	"bundle server-json": always("--name --url --remote"),
	"run": {{[]mode{{name: "own", args: "fs list"}, {name: "script", args: "-"},
		{name: "server", args: "files x"}}, `
			--root --write --allow-exec --allow-eval --config --input --profile -o: *
			--save: script server
		`}},
	"policy explain": always("-o --as --type --kind --closed-world --profile --policy --config"),
	"policy test":    always("-o --policy --config"),
	"manifest":       always("--root --write --allow-exec --allow-eval"),
	"version":        always("-o"),
	"help":           {{[]mode{{name: "all"}, {name: "page", args: "call"}}, "--man: all"}},
}

// without returns modes without the one of that name.
func without(modes []mode, name string) (all []mode) {
	for _, m := range modes {
		if m.name != name {
			all = append(all, m)
		}
	}
	return all
}
