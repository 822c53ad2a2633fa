// Package layers tests the structure of the module: which package may import which, and what the
// shipped ones link.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const module = "github.com/stdwire/stdwire/"

// layers lists the packages of this module from the bottom up, each with the packages of this
// module that it may import. All of those precede it in the table. Every shipped package must be
// listed.
var layers = []struct {
	name string
	may  []string
}{
	{"internal/buffer", nil},
	{"internal/contain", nil},
	{"internal/quota", nil},
	{"internal/roundrobin", nil},
	{"internal/rate", []string{"internal/quota", "internal/roundrobin"}},
	{"internal/backoff", nil},
	{"internal/ondemand", nil},
	{"internal/contextkey", nil},
	{"internal/wake", nil},
	{"internal/turn", []string{"internal/contextkey", "internal/roundrobin"}},
	{"internal/timeout", nil},
	{"internal/httpdeadline", nil},
	{"internal/keepalive", nil},
	{"internal/jsonscan", nil},
	{"internal/lazyregexp", nil},
	{"internal/printable", nil},
	{"internal/jsonexact", []string{"internal/jsonscan", "internal/printable"}},
	{"internal/jose", []string{"internal/jsonscan", "internal/jsonexact"}},
	{"internal/toml", []string{"internal/jsonscan"}},
	{"internal/near", nil},
	{"internal/redis", []string{"internal/near", "internal/quota", "internal/wake"}},
	{"internal/redis/redistest", []string{"internal/redis"}},
	{"internal/store", []string{"internal/rate", "internal/redis", "internal/wake"}},
	{"internal/store/storetest", []string{
		"internal/rate", "internal/redis", "internal/redis/redistest", "internal/store",
	}},
	{"internal/atomicfile", nil},
	{"internal/userfile", []string{"internal/atomicfile", "internal/jsonscan"}},
	{"internal/shellwords", nil},
	{"internal/terminal", []string{"internal/printable"}},
	{"internal/form", []string{"internal/jsonscan"}},
	{"internal/yaml", []string{"internal/jsonscan", "internal/lazyregexp"}},
	{"internal/render", []string{"internal/jsonscan", "internal/printable", "internal/terminal"}},
	{"internal/jsondiff", []string{"internal/jsonscan", "internal/printable"}},
	{"internal/jsonedit", []string{"internal/jsondiff", "internal/jsonscan", "internal/toml"}},
	{"internal/processgroup", nil},
	{"internal/child", []string{"internal/contain", "internal/printable", "internal/processgroup",
		"internal/timeout"}},
	{"internal/lograte", []string{"internal/contain"}},
	{"internal/sse", nil},
	{"internal/hostname", nil},
	{"internal/httphost", []string{"internal/hostname"}},
	{"internal/httpurl", []string{"internal/hostname"}},
	{"internal/httptoken", nil},
	{"internal/retryafter", nil},
	{"internal/mcpjson", nil},
	{"internal/paramheader", []string{"internal/httptoken", "internal/jsonscan"}},
	{"internal/elicitschema", []string{"internal/jsonexact", "internal/jsonscan"}},
	{"internal/oauth", []string{"internal/httptoken", "internal/jsonexact"}},
	{"internal/uritemplate", nil},
	{"internal/itemname", []string{"internal/lazyregexp"}},
	{"internal/toolsearch", []string{"internal/jsonscan"}},
	{"internal/policy", []string{"internal/itemname", "internal/jsonedit", "internal/jsonscan",
		"internal/near"}},
	{"framing", []string{"internal/httptoken"}},
	{"dispatch/schema/internal/ecma262", nil},
	{"dispatch/schema/internal/format", []string{"internal/lazyregexp"}},
	{"dispatch/schema", []string{
		"internal/contain", "internal/jsonscan", "internal/jsonexact", "internal/near",
		"dispatch/schema/internal/ecma262", "dispatch/schema/internal/format",
	}},

	{"rpc", []string{"internal/buffer", "internal/contain", "internal/lograte",
		"internal/jsonscan", "internal/jsonexact", "internal/timeout", "internal/turn", "framing"}},
	{"dispatch", []string{"internal/contextkey", "internal/contain", "internal/lograte",
		"internal/jsonscan", "internal/jsonexact", "internal/near",
		"dispatch/schema", "internal/quota", "internal/turn"}},

	{"rpc/socket", []string{"internal/contain", "rpc"}},
	{"rpc/rpchttp", []string{"internal/contain", "internal/lograte", "internal/httpdeadline",
		"internal/httphost", "internal/hostname", "internal/httpurl", "internal/jsonscan",
		"internal/keepalive", "internal/quota", "internal/turn", "rpc"}},
	{"rpc/lsp", []string{"framing", "internal/jsonscan", "rpc"}},
	{"rpc/mcp", []string{"internal/jsonscan",
		"internal/jsonexact",
		"internal/lazyregexp", "rpc"}},
	{"internal/appdef", []string{"rpc/mcp"}},
	{"internal/extensionid", []string{"rpc/mcp"}},
	{"internal/itemkey", []string{"rpc/mcp"}},
	{"internal/toolhint", []string{"rpc/mcp"}},
	{"internal/listcache", []string{"internal/atomicfile", "internal/userfile", "rpc/mcp"}},
	{"rpc/mcp/telemetry",
		[]string{"internal/contain", "internal/jsonscan", "internal/contextkey", "internal/wake",
			"rpc", "rpc/mcp"}},
	{"internal/skill", []string{
		"internal/userfile", "internal/jsonscan", "internal/lazyregexp", "internal/yaml",
		"rpc/mcp"}},
	{"dispatch/cli",
		[]string{
			"internal/userfile", "internal/contain", "internal/near", "internal/printable",
			"internal/shellwords",
			"internal/terminal", "internal/render", "internal/form", "internal/jsonscan",
			"dispatch/schema", "dispatch"}},
	{"dispatch/api", []string{
		"internal/contain", "internal/quota", "internal/contextkey", "internal/httpdeadline",
		"internal/jsonscan", "internal/jsonexact", "internal/form", "internal/lograte",
		"internal/httphost", "dispatch/schema", "dispatch",
	}},

	{"server/internal/params", []string{"internal/jsonscan", "rpc", "rpc/mcp"}},
	{"server/internal/era", []string{"internal/jsonscan", "internal/printable", "rpc", "rpc/mcp",
		"server/internal/params"}},
	{"server/internal/sealed", []string{"rpc/mcp"}},
	{"server/internal/mrtr", []string{"internal/jsondiff", "internal/jsonscan",
		"internal/lazyregexp", "rpc", "rpc/mcp", "server/internal/params",
		"server/internal/sealed"}},
	{"server/internal/legacy", []string{"internal/jsonscan", "rpc/mcp"}},
	{"server/internal/questions", []string{"internal/elicitschema", "dispatch/schema", "rpc/mcp"}},
	{"server/internal/projection", []string{"internal/jsonscan", "dispatch"}},
	{"server/internal/results", []string{"internal/jsonscan", "dispatch", "rpc/mcp",
		"server/internal/era"}},
	{"server/internal/items", []string{"internal/jsonscan", "rpc", "rpc/mcp",
		"server/internal/era", "server/internal/results"}},
	{"server/internal/outgoing", []string{"rpc", "rpc/mcp"}},
	{"server/internal/subscriptions", []string{"internal/quota", "rpc", "rpc/mcp",
		"server/internal/outgoing"}},
	{"server/internal/clientlog", []string{"rpc/mcp", "server/internal/outgoing"}},
	{"server/internal/clientevents", nil},
	{"server/internal/discovery", []string{"internal/jsonscan", "internal/printable", "rpc/mcp"}},
	{"server/internal/skillindex", []string{"internal/skill", "dispatch", "rpc", "rpc/mcp"}},
	{"server/internal/task", []string{"internal/contain", "internal/jsonscan",
		"internal/printable", "internal/quota", "rpc", "rpc/mcp", "server/internal/outgoing"}},
	{"server", []string{
		"internal/paramheader", "internal/appdef", "internal/contextkey", "internal/userfile",
		"internal/contain", "internal/extensionid", "internal/skill",
		"internal/printable", "internal/jsonscan", "internal/jsonexact",
		"internal/uritemplate", "framing", "rpc", "rpc/mcp", "dispatch", "dispatch/schema",
		"internal/quota", "internal/turn", "internal/lograte", "server/internal/params",
		"server/internal/era", "server/internal/sealed", "server/internal/mrtr",
		"server/internal/legacy", "server/internal/questions", "server/internal/projection",
		"server/internal/results", "server/internal/items", "server/internal/outgoing",
		"server/internal/clientlog", "server/internal/clientevents", "server/internal/skillindex",
		"internal/itemname", "internal/toolsearch", "server/internal/discovery",
		"server/internal/subscriptions", "server/internal/task"}},
	{"server/streamable/internal/card", []string{"rpc/mcp"}},
	{"server/streamable/internal/origin", []string{"internal/hostname", "internal/httphost",
		"rpc/mcp"}},
	{"server/streamable/internal/eventstore", nil},
	{"server/streamable/internal/workers", nil},
	{"server/streamable/internal/shared", []string{
		"internal/redis", "internal/store", "rpc/mcp", "server/internal/task", "internal/quota",
		"internal/wake",
	}},
	{"server/streamable/internal/forwarding", []string{"internal/buffer", "internal/httpdeadline",
		"internal/keepalive", "server/streamable/internal/shared"}},
	{"server/streamable", []string{
		"internal/store", "server/streamable/internal/shared",
		"server/streamable/internal/forwarding", "server/streamable/internal/workers",
		"server/internal/task", "server/streamable/internal/card",
		"server/streamable/internal/origin",
		"server/streamable/internal/eventstore", "internal/turn", "internal/contextkey",
		"internal/paramheader", "internal/buffer", "internal/contain", "internal/quota",
		"internal/httpdeadline", "internal/keepalive", "internal/jsonscan", "internal/lograte",
		"internal/sse", "internal/httphost", "rpc", "rpc/mcp", "server",
		"server/internal/era", "server/internal/discovery", "internal/wake",
	}},
	{"client/internal/errtext", []string{"rpc"}},
	{"client/internal/object", []string{"internal/jsonexact", "internal/jsonscan", "rpc"}},
	{"client/internal/progress", []string{"internal/jsonscan", "rpc/mcp", "internal/wake"}},
	{"client/internal/cache", []string{"internal/jsonscan", "rpc", "rpc/mcp"}},
	{"client/internal/listed", []string{"internal/paramheader", "dispatch/schema",
		"internal/jsonscan", "rpc/mcp"}},
	{"client/internal/stray", []string{"internal/printable"}},
	{"client/internal/cancelled", []string{"rpc"}},
	{"client/internal/listpage", []string{"internal/jsonscan", "client/internal/object"}},
	{"client/internal/era", []string{"internal/jsonscan", "rpc", "rpc/mcp",
		"client/internal/errtext"}},
	{"client/internal/queue", []string{"internal/ondemand"}},
	{"client/internal/changes", []string{"internal/jsonscan", "internal/ondemand", "internal/wake",
		"rpc/mcp"}},
	{"client/internal/subscription", []string{"internal/wake", "rpc", "rpc/mcp"}},
	{"client/internal/urlelicitation", []string{"internal/jsonscan", "internal/ondemand"}},
	{"client", []string{"internal/elicitschema", "internal/extensionid", "internal/contextkey",
		"internal/contain", "internal/ondemand",
		"internal/skill", "internal/printable", "internal/jsonscan",
		"internal/jsonexact", "internal/timeout",
		"internal/child", "framing", "rpc", "rpc/mcp", "dispatch/schema", "internal/lograte",
		"client/internal/cache", "client/internal/cancelled", "client/internal/changes",
		"client/internal/era", "client/internal/errtext", "client/internal/listed",
		"client/internal/listpage", "client/internal/object", "client/internal/progress",
		"client/internal/queue", "client/internal/stray", "client/internal/subscription",
		"client/internal/urlelicitation", "internal/wake",
	}},

	{"client/apps", []string{"internal/appdef", "internal/contain", "internal/lograte",
		"internal/jsonscan", "rpc", "rpc/mcp", "client"}},
	{"client/host", []string{"internal/itemname", "internal/backoff", "internal/contain",
		"internal/quota", "rpc",
		"rpc/mcp", "client", "internal/wake",
	}},
	{"client/host/internal/override", []string{"internal/jsondiff", "internal/jsonscan",
		"internal/near", "internal/toolhint", "dispatch/schema", "rpc/mcp", "client/host"}},
	{"internal/pin", []string{"internal/atomicfile", "internal/jsonscan", "internal/jsondiff",
		"internal/printable", "internal/userfile", "rpc/mcp"}},
	{"client/host/gateway/internal/nametable", []string{"internal/appdef", "internal/uritemplate",
		"rpc/mcp"}},
	{"client/host/gateway/internal/definition", []string{"internal/appdef", "internal/jsondiff",
		"internal/jsonscan", "internal/itemkey", "rpc/mcp",
		"client/host", "client/host/internal/override"}},
	{"client/host/gateway/internal/astools", []string{"internal/jsonscan", "rpc", "rpc/mcp",
		"client/host/gateway/internal/definition"}},
	{"client/host/gateway/internal/appuri", []string{"internal/appdef", "internal/jsonscan",
		"rpc/mcp"}},
	{"client/host/gateway/internal/toolresult", []string{"internal/jsondiff", "internal/jsonscan",
		"internal/printable", "rpc/mcp", "dispatch"}},
	{"client/host/gateway/internal/audit", []string{"internal/contain", "internal/jsondiff",
		"internal/jsonscan", "internal/printable", "internal/wake", "rpc/mcp"}},
	{"client/host/gateway/internal/sessions", nil},
	{"client/host/gateway/internal/instructions", []string{"internal/printable"}},
	{"client/host/gateway/internal/logging", []string{"rpc/mcp", "server"}},
	{"client/host/gateway/internal/statelog", []string{"client/host"}},
	{"client/host/gateway/internal/inflight", []string{"internal/quota", "rpc", "rpc/mcp",
		"dispatch",
		"server", "client", "client/host", "client/host/gateway/internal/appuri",
		"client/host/gateway/internal/logging", "client/host/gateway/internal/toolresult"}},
	{"client/host/gateway/internal/legacypeers", []string{"internal/jsonscan", "internal/wake",
		"rpc/mcp", "server", "client", "client/host/gateway/internal/inflight",
		"client/host/gateway/internal/logging"}},
	{"client/host/gateway/internal/pincheck", []string{"internal/appdef", "rpc/mcp", "client",
		"internal/pin"}},
	{"client/host/gateway/internal/listfetch", []string{"rpc", "rpc/mcp", "client", "client/host"}},
	{"client/host/gateway/internal/preview", []string{"internal/jsonscan", "dispatch/schema",
		"rpc/mcp"}},
	{"client/host/gateway/internal/spill", []string{"internal/atomicfile", "internal/quota",
		"internal/userfile"}},
	{"client/host/gateway/internal/resultcache", []string{"internal/jsondiff", "internal/jsonscan",
		"internal/quota", "rpc/mcp"}},
	{"client/host/gateway/internal/largeresult", []string{"internal/contain", "internal/jsonscan",
		"rpc", "dispatch", "dispatch/schema", "rpc/mcp", "server", "client/host/gateway/internal/preview",
		"client/host/gateway/internal/spill"}},
	{"client/host/gateway",
		[]string{
			"internal/appdef", "internal/uritemplate", "internal/itemkey", "internal/listcache", "internal/atomicfile", "internal/jsonscan",
			"internal/contextkey", "internal/ondemand", "internal/wake",
			"rpc", "rpc/mcp",
			"dispatch", "client", "client/apps", "client/host", "internal/itemname", "internal/pin",
			"server",
			"internal/lograte", "client/host/gateway/internal/appuri",
			"client/host/gateway/internal/astools",
			"client/host/gateway/internal/audit", "client/host/gateway/internal/definition",
			"client/host/gateway/internal/inflight", "internal/printable",
			"client/host/gateway/internal/instructions",
			"client/host/gateway/internal/largeresult",
			"client/host/gateway/internal/legacypeers",
			"client/host/gateway/internal/listfetch", "client/host/gateway/internal/logging",
			"client/host/gateway/internal/nametable", "client/host/internal/override",
			"client/host/gateway/internal/pincheck",
			"client/host/gateway/internal/resultcache", "internal/contain", "internal/quota",
			"client/host/gateway/internal/sessions", "client/host/gateway/internal/statelog",
			"client/host/gateway/internal/toolresult"}},
	{"client/streamable",
		[]string{"internal/paramheader", "internal/buffer", "internal/contain", "internal/httpurl",
			"internal/jsonscan",
			"internal/keepalive", "internal/printable", "internal/sse", "framing", "rpc", "rpc/mcp",
			"client"}},
	{"client/mcptest", []string{"internal/printable", "rpc", "rpc/mcp", "client",
		"client/streamable", "server", "server/streamable"}},

	{"server/auth", []string{"internal/contain", "internal/quota", "internal/httpurl",
		"internal/jose", "internal/jsonscan", "internal/jsonexact", "internal/keepalive",
		"internal/lograte", "internal/oauth", "server/streamable"}},
	{"client/auth", []string{"internal/contain", "internal/atomicfile", "internal/hostname",
		"internal/httpurl",
		"internal/jose", "internal/jsonscan", "internal/jsonexact", "internal/keepalive",
		"internal/userfile", "internal/oauth", "internal/printable", "rpc/mcp",
		"internal/lograte"}},

	{"client/host/config",
		[]string{
			"internal/mcpjson", "internal/itemname", "internal/userfile", "internal/atomicfile",
			"internal/httptoken", "internal/httpurl", "internal/policy",
			"internal/jsonedit", "internal/jsonscan", "internal/near", "internal/rate",
			"internal/itemkey", "internal/toolhint", "client/host/internal/override",
			"internal/shellwords", "rpc/mcp", "client", "client/host"}},

	{"cmd/stdwire/internal/lineedit", []string{
		"internal/userfile", "internal/atomicfile", "internal/printable", "internal/terminal",
		"internal/wake",
	}},
	{"cmd/stdwire/internal/guard", []string{
		"internal/processgroup", "internal/child", "internal/timeout",
	}},
	{"cmd/stdwire/internal/tap", []string{
		"internal/jsonexact", "internal/jsonscan", "internal/printable", "internal/jsondiff",
		"framing", "rpc",
		"rpc/mcp", "rpc/mcp/telemetry",
	}},
	{"cmd/stdwire/internal/hosts", nil},
	{"cmd/stdwire/internal/scan", []string{
		"internal/toolhint",
		"cmd/stdwire/internal/hosts", "internal/jsonscan", "internal/lazyregexp",
		"internal/printable", "rpc/mcp", "client/host",
	}},
	{"cmd/stdwire/internal/otlp", []string{"internal/httpurl", "internal/jsonscan",
		"internal/keepalive",
		"internal/printable", "internal/retryafter", "internal/userfile", "rpc/mcp/telemetry",
		"internal/wake",
	}},
	{"cmd/stdwire/internal/bundle", []string{
		"internal/jsonscan", "internal/userfile",
		"internal/atomicfile", "dispatch/schema",
	}},
	{"cmd/stdwire/internal/registry", []string{
		"internal/itemname", "internal/jsonscan",
		"client/host/config"}},
	{"cmd/stdwire/internal/appfile", []string{
		"internal/itemname",
		"internal/mcpjson", "internal/jsonscan",
		"internal/jsonedit",
		"client/host",
		"client/host/config"}},
	{"cmd/stdwire/internal/auditfile", []string{
		"internal/atomicfile", "internal/userfile",
	}},
	{"cmd/stdwire/internal/filewatch", []string{
		"internal/atomicfile", "internal/userfile",
	}},
	{"cmd/stdwire/internal/tokenfile", []string{
		"internal/jsonexact", "internal/jsonscan", "internal/near", "internal/atomicfile",
		"internal/userfile", "server/auth", "cmd/stdwire/internal/filewatch",
	}},
	{"cmd/stdwire/internal/ops/fs/internal/glob", []string{"dispatch"}},
	{"cmd/stdwire/internal/ops/fs/internal/rootdir", []string{"internal/userfile", "dispatch"}},
	{"cmd/stdwire/internal/ops/fs/internal/replace", []string{
		"internal/atomicfile", "dispatch", "cmd/stdwire/internal/ops/fs/internal/rootdir",
	}},
	{"cmd/stdwire/internal/ops/fs/internal/grep", []string{
		"internal/quota", "dispatch", "cmd/stdwire/internal/ops/fs/internal/rootdir",
	}},
	{"cmd/stdwire/internal/ops/fs", []string{
		"internal/printable", "dispatch", "cmd/stdwire/internal/ops/fs/internal/glob",
		"cmd/stdwire/internal/ops/fs/internal/rootdir",
		"cmd/stdwire/internal/ops/fs/internal/replace", "cmd/stdwire/internal/ops/fs/internal/grep",
	}},
	{"cmd/stdwire/internal/ops/proc/internal/ring", []string{"internal/printable", "dispatch"}},
	{"cmd/stdwire/internal/ops/proc", []string{
		"internal/printable", "internal/child", "dispatch", "cmd/stdwire/internal/guard",
		"cmd/stdwire/internal/ops/fs", "cmd/stdwire/internal/ops/proc/internal/ring",
	}},
	{"cmd/stdwire/internal/ops/host", []string{
		"internal/printable", "dispatch", "client/host", "rpc/mcp",
	}},
	{"cmd/stdwire/internal/term", []string{
		"internal/printable", "internal/render", "internal/terminal", "cmd/stdwire/internal/guard",
	}},
	{"cmd/stdwire/internal/termtest", []string{
		"cmd/stdwire/internal/term",
	}},
	{"cmd/stdwire/internal/command", []string{
		"internal/printable", "internal/near", "rpc/mcp", "cmd/stdwire/internal/term",
		"internal/wake",
	}},
	{"cmd/stdwire/internal/commandtest", []string{
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/termtest",
	}},
	{"cmd/stdwire/internal/connlimit", []string{"internal/keepalive", "internal/lograte",
		"internal/quota"}},
	{"cmd/stdwire/internal/observe", []string{
		"internal/hostname", "rpc/mcp/telemetry", "server", "client", "client/host",
		"client/host/gateway", "cmd/stdwire/internal/otlp", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/connlimit",
	}},
	{"cmd/stdwire/internal/arguments", []string{
		"internal/userfile", "internal/jsonscan", "internal/printable", "internal/form",
		"internal/shellwords",
		"cmd/stdwire/internal/command",
	}},
	{"cmd/stdwire/internal/output", []string{
		"cmd/stdwire/internal/hosts", "internal/itemname",
		"internal/skill",
		"internal/jsonscan", "internal/printable", "internal/atomicfile", "internal/render",
		"internal/form", "dispatch", "rpc/mcp", "client", "client/apps",
		"cmd/stdwire/internal/scan", "cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/arguments",
	}},
	{"cmd/stdwire/internal/elicit", []string{
		"internal/jsonscan", "internal/printable", "internal/form", "internal/hostname",
		"dispatch/schema", "rpc", "rpc/mcp", "client", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/arguments",
	}},
	{"cmd/stdwire/internal/hook", []string{
		"framing", "internal/backoff", "internal/jsonscan", "internal/printable",
		"internal/shellwords", "internal/processgroup", "internal/child", "internal/quota",
		"rpc/mcp", "dispatch",
		"internal/httpurl", "internal/keepalive", "internal/userfile", "server", "server/auth",
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/filewatch",
		"cmd/stdwire/internal/command", "internal/wake",
	}},
	{"cmd/stdwire/internal/gatewaytext", []string{
		"internal/printable", "client/host/gateway", "cmd/stdwire/internal/ops/host",
		"cmd/stdwire/internal/command",
	}},
	{"cmd/stdwire/internal/socket", []string{
		"internal/near", "internal/userfile", "server/auth",
	}},
	{"cmd/stdwire/internal/socketserver", []string{
		"internal/contextkey", "dispatch", "server", "server/auth", "cmd/stdwire/internal/ops/host", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/socket",
	}},
	{"cmd/stdwire/internal/credential", []string{
		"internal/httpurl", "internal/jose", "internal/jsonscan", "internal/userfile", "dispatch",
		"server/auth", "client/auth", "client/host/config",
	}},
	{"cmd/stdwire/internal/login", []string{
		"internal/atomicfile", "internal/httpurl", "internal/jsonexact", "internal/jsonscan",
		"internal/near", "internal/oauth", "internal/printable", "internal/redis/redistest",
		"internal/store", "internal/userfile", "rpc", "dispatch", "rpc/mcp", "server",
		"server/auth", "client/auth",
		"client/host", "client/host/gateway", "client/host/config", "client/streamable",
		"cmd/stdwire/internal/command", "internal/wake",
	}},
	{"cmd/stdwire/internal/target", []string{
		"internal/listcache", "internal/toolhint",
		"cmd/stdwire/internal/login", "cmd/stdwire/internal/credential", "internal/itemname", "internal/jsonscan", "internal/printable", "internal/near",
		"internal/userfile",
		"internal/shellwords", "internal/form", "internal/child", "internal/httpurl",
		"internal/httptoken", "internal/oauth", "framing", "rpc", "dispatch", "rpc/mcp",
		"server", "client", "client/host", "internal/pin", "client/host/gateway",
		"client/streamable", "client/auth", "client/host/config", "cmd/stdwire/internal/guard",
		"cmd/stdwire/internal/scan", "cmd/stdwire/internal/ops/fs",
		"cmd/stdwire/internal/ops/proc", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/output",
		"cmd/stdwire/internal/elicit", "cmd/stdwire/internal/socket",
	}},
	{"cmd/stdwire/internal/savedcall", []string{
		"internal/jsonscan", "internal/printable", "dispatch/schema", "rpc", "rpc/mcp",
	}},
	{"cmd/stdwire/internal/load", []string{
		"internal/jsonscan", "internal/printable", "rpc", "cmd/stdwire/internal/tap",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/target",
	}},
	{"cmd/stdwire/internal/calls", []string{
		"internal/userfile", "internal/itemname", "internal/toolsearch", "client/host",
		"rpc/mcp/telemetry", "cmd/stdwire/internal/observe",
		"internal/atomicfile", "internal/skill", "internal/terminal",
		"internal/jsonscan", "internal/printable", "internal/near", "dispatch/schema", "rpc",
		"rpc/mcp", "client", "client/apps", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command",
		"cmd/stdwire/internal/arguments", "cmd/stdwire/internal/output",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/elicit",
		"cmd/stdwire/internal/savedcall", "cmd/stdwire/internal/load",
	}},
	{"cmd/stdwire/internal/configfile", []string{
		"internal/atomicfile", "client/host/config", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/appfile",
	}},
	{"cmd/stdwire/internal/configcmd", []string{
		"internal/itemname", "internal/jsondiff", "internal/printable", "internal/near",
		"internal/atomicfile",
		"rpc/mcp", "client", "internal/pin", "internal/shellwords",
		"client/host/gateway", "client/host/config", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/output",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/registry",
		"cmd/stdwire/internal/appfile",
		"cmd/stdwire/internal/configfile",
	}},
	{"cmd/stdwire/internal/installcmd", []string{
		"internal/itemname", "internal/near", "internal/shellwords",
		"cmd/stdwire/internal/configfile", "client/host",
		"client/host/config",
		"cmd/stdwire/internal/appfile",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command", "cmd/stdwire/internal/target",
	}},
	{"cmd/stdwire/internal/relay", []string{
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
	}},
	{"cmd/stdwire/internal/access", []string{
		"internal/jsonedit", "internal/jsonscan", "internal/lograte", "internal/policy",
		"internal/userfile", "rpc", "dispatch", "rpc/mcp", "server", "server/auth",
		"client/host/gateway", "client/host/config", "cmd/stdwire/internal/command",
		"internal/printable", "cmd/stdwire/internal/ops/host",
	}},
	{"cmd/stdwire/internal/transport", []string{
		"cmd/stdwire/internal/access", "cmd/stdwire/internal/login", "internal/keepalive",
		"internal/atomicfile", "internal/hostname", "internal/contextkey", "internal/httphost",
		"internal/userfile", "rpc", "dispatch", "rpc/mcp", "rpc/mcp/telemetry", "dispatch/api",
		"server", "server/streamable", "client/host", "server/auth", "client/host/config",
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/filewatch",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/connlimit", "cmd/stdwire/internal/observe",
		"cmd/stdwire/internal/socket", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/tokenfile",
	}},
	{"cmd/stdwire/internal/messagewatch", []string{
		"internal/jsonscan", "internal/printable", "internal/quota", "rpc", "dispatch",
		"rpc/mcp", "server", "cmd/stdwire/internal/tap", "cmd/stdwire/internal/ops/host",
		"cmd/stdwire/internal/socketserver", "cmd/stdwire/internal/transport",
	}},
	{"cmd/stdwire/internal/bridge", []string{
		"internal/itemname", "internal/jsonscan", "internal/printable", "framing", "dispatch",
		"rpc/mcp", "server",
		"client", "client/host", "client/host/gateway", "client/host/config",
		"cmd/stdwire/internal/ops/host", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/observe",
		"cmd/stdwire/internal/socket", "cmd/stdwire/internal/socketserver",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/relay",
		"cmd/stdwire/internal/transport",
	}},
	{"cmd/stdwire/internal/rates", []string{
		"internal/contextkey", "internal/rate", "internal/store", "internal/redis",
		"internal/redis/redistest", "internal/store/storetest", "internal/retryafter", "dispatch",
		"rpc/mcp",
		"rpc/mcp/telemetry", "client/host", "client/host/config", "client/streamable",
		"server/auth", "cmd/stdwire/internal/ops/host",
	}},
	{"cmd/stdwire/internal/sharedstore", []string{
		"internal/lograte", "internal/printable", "internal/rate", "internal/redis",
		"internal/redis/redistest", "internal/store", "rpc/mcp/telemetry",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/ops/host",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/transport", "internal/userfile",
		"server/streamable", "cmd/stdwire/internal/login", "cmd/stdwire/internal/filewatch",
		"internal/wake",
	}},
	{"cmd/stdwire/internal/authcmd", []string{
		"internal/jsonscan", "internal/near", "internal/printable", "client/auth", "client/host/config",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command", "cmd/stdwire/internal/elicit",
		"cmd/stdwire/internal/login", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/tokenfile", "cmd/stdwire/internal/transport",
		"cmd/stdwire/internal/sharedstore",
	}},
	{"cmd/stdwire/internal/policycmd", []string{
		"internal/jsonedit", "internal/jsonexact", "internal/jsonscan", "internal/near",
		"internal/policy", "internal/userfile", "cmd/stdwire/internal/access",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/term",
	}},
	{"cmd/stdwire/internal/resultstore", []string{
		"internal/redis/redistest", "internal/store",
	}},
	{"cmd/stdwire/internal/decision", []string{
		"internal/jsondiff", "internal/pin", "internal/redis/redistest", "internal/store", "rpc/mcp",
		"internal/wake",
	}},
	{"cmd/stdwire/internal/serve", []string{
		"internal/jsonedit", "internal/policy", "cmd/stdwire/internal/access",
		"cmd/stdwire/internal/credential", "cmd/stdwire/internal/login", "internal/httpdeadline",
		"internal/printable", "internal/userfile", "internal/terminal", "internal/lograte",
		"internal/quota", "rpc", "dispatch", "rpc/mcp", "internal/skill", "server", "client",
		"client/host", "internal/pin", "client/host/gateway", "client/host/config",
		"cmd/stdwire/internal/auditfile", "cmd/stdwire/internal/filewatch",
		"cmd/stdwire/internal/ops/fs", "cmd/stdwire/internal/ops/host",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/observe", "cmd/stdwire/internal/arguments",
		"cmd/stdwire/internal/hook", "cmd/stdwire/internal/hosts",
		"cmd/stdwire/internal/gatewaytext", "cmd/stdwire/internal/socket",
		"cmd/stdwire/internal/socketserver", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/transport", "cmd/stdwire/internal/messagewatch",
		"cmd/stdwire/internal/rates", "cmd/stdwire/internal/sharedstore", "server/auth",
		"server/streamable", "cmd/stdwire/internal/decision", "cmd/stdwire/internal/resultstore",
	}},
	{"cmd/stdwire/internal/control", []string{
		"internal/printable", "cmd/stdwire/internal/hosts", "internal/near", "rpc/mcp", "client", "client/host/config",
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/tap",
		"cmd/stdwire/internal/ops/host", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/gatewaytext",
		"cmd/stdwire/internal/socket", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/bridge", "cmd/stdwire/internal/configcmd", "internal/shellwords",
	}},
	{"cmd/stdwire/internal/doctor", []string{
		"internal/itemkey", "internal/skill",
		"cmd/stdwire/internal/hosts",
		"internal/itemname", "internal/paramheader", "internal/httpurl", "internal/jsonscan",
		"internal/printable",
		"internal/near",
		"internal/shellwords",
		"dispatch/schema", "rpc", "rpc/mcp", "client", "client/apps", "client/host",
		"internal/pin", "client/host/gateway", "client/streamable", "client/host/config",
		"cmd/stdwire/internal/scan", "cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/output", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/socket",
	}},
	{"cmd/stdwire/internal/tapcmd", []string{
		"internal/userfile", "internal/jsonscan", "internal/printable", "internal/near",
		"internal/terminal",
		"internal/child", "rpc", "cmd/stdwire/internal/lineedit", "cmd/stdwire/internal/tap",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command", "cmd/stdwire/internal/relay",
	}},
	{"cmd/stdwire/internal/shell", []string{
		"internal/skill",
		"internal/jsonscan", "internal/printable", "internal/form", "internal/near",
		"internal/shellwords", "rpc", "rpc/mcp", "client", "cmd/stdwire/internal/lineedit",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/arguments", "cmd/stdwire/internal/output",
		"cmd/stdwire/internal/elicit",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/calls", "internal/wake",
	}},
	{"cmd/stdwire/internal/web/internal/changes", nil},
	{"cmd/stdwire/internal/web/internal/reply", []string{
		"internal/httpdeadline", "internal/jsonscan", "internal/printable", "internal/jsondiff",
		"rpc", "rpc/lsp", "rpc/mcp", "cmd/stdwire/internal/command", "cmd/stdwire/internal/target",
	}},
	{"cmd/stdwire/internal/web/internal/snippet", []string{
		"rpc/mcp", "internal/jsonscan", "internal/paramheader", "internal/shellwords",
	}},
	{"cmd/stdwire/internal/web/internal/traffic", []string{
		"internal/paramheader", "internal/jsonscan", "internal/jsondiff", "internal/httpurl", "rpc",
		"rpc/mcp", "client",
		"cmd/stdwire/internal/tap", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/web/internal/changes", "cmd/stdwire/internal/web/internal/reply",
	}},
	{"cmd/stdwire/internal/web", []string{
		"internal/paramheader", "internal/quota", "internal/httpdeadline", "internal/jsonscan",
		"internal/jsondiff", "cmd/stdwire/internal/output",
		"internal/atomicfile", "internal/itemname", "internal/userfile", "internal/hostname",
		"internal/httpurl", "internal/uritemplate",
		"internal/shellwords", "rpc", "rpc/mcp",
		"internal/skill", "client", "client/apps", "client/host", "internal/pin",
		"client/host/gateway", "client/auth", "client/host/config", "cmd/stdwire/internal/guard",
		"cmd/stdwire/internal/tap", "cmd/stdwire/internal/scan", "cmd/stdwire/internal/registry",
		"cmd/stdwire/internal/appfile", "cmd/stdwire/internal/ops/host",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/connlimit", "cmd/stdwire/internal/elicit",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/savedcall",
		"cmd/stdwire/internal/load", "cmd/stdwire/internal/configfile",
		"cmd/stdwire/internal/relay", "cmd/stdwire/internal/control", "cmd/stdwire/internal/doctor",
		"cmd/stdwire/internal/web/internal/changes", "cmd/stdwire/internal/web/internal/reply",
		"cmd/stdwire/internal/web/internal/snippet", "cmd/stdwire/internal/web/internal/traffic",
	}},
	{"cmd/stdwire/internal/bundlecmd", []string{
		"internal/userfile", "internal/atomicfile", "internal/child",
		"internal/printable", "cmd/stdwire/internal/bundle", "cmd/stdwire/internal/registry",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command", "cmd/stdwire/internal/relay",
		"cmd/stdwire/internal/target"}},
	{"cmd/stdwire/internal/topic", []string{"internal/printable", "client/host/config"}},
	{"cmd/stdwire/internal/man", []string{"internal/printable", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/topic"}},
	{"cmd/stdwire/internal/completion", []string{
		"internal/printable", "internal/form", "rpc/mcp", "dispatch/cli", "server", "client",
		"client/host/config", "cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/arguments", "cmd/stdwire/internal/socket",
		"cmd/stdwire/internal/target", "cmd/stdwire/internal/control",
		"cmd/stdwire/internal/topic",
	}},
	{"cmd/stdwire/internal/runcmd", []string{
		"internal/itemname",
		"internal/jsonscan", "internal/printable", "internal/near", "dispatch", "dispatch/cli",
		"server", "client", "client/host", "client/host/gateway", "client/host/config",
		"cmd/stdwire/internal/term", "cmd/stdwire/internal/command",
		"cmd/stdwire/internal/output", "cmd/stdwire/internal/elicit",
		"cmd/stdwire/internal/gatewaytext", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/completion",
	}},
	{"cmd/stdwire", []string{
		"internal/printable", "internal/near", "internal/atomicfile", "client/host/config",
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/term",
		"cmd/stdwire/internal/command", "cmd/stdwire/internal/target",
		"cmd/stdwire/internal/calls", "cmd/stdwire/internal/configcmd",
		"cmd/stdwire/internal/installcmd", "cmd/stdwire/internal/authcmd",
		"cmd/stdwire/internal/bridge", "cmd/stdwire/internal/serve",
		"cmd/stdwire/internal/policycmd",
		"cmd/stdwire/internal/control", "cmd/stdwire/internal/doctor",
		"cmd/stdwire/internal/tapcmd", "cmd/stdwire/internal/shell",
		"cmd/stdwire/internal/web", "cmd/stdwire/internal/bundlecmd",
		"cmd/stdwire/internal/topic", "cmd/stdwire/internal/man",
		"cmd/stdwire/internal/completion", "cmd/stdwire/internal/runcmd",
	}},
}

// mayLinkHTTP are the packages that may link net/http.
var mayLinkHTTP = []string{"internal/httpdeadline", "internal/httphost", "internal/keepalive",
	"internal/retryafter", "dispatch/api", "rpc/rpchttp", "server/streamable",
	"server/streamable/internal/card", "server/streamable/internal/forwarding",
	"server/streamable/internal/origin", "server/auth", "client/streamable", "client/auth",
	"client/mcptest", "cmd/stdwire"}

// unshipped lists the packages that are not shipped. They may import any package of this module.
var unshipped = []string{"internal/conformance", "internal/eventually", "internal/examples",
	"internal/freeport", "internal/growth", "internal/inflight", "internal/layers",
	"internal/lockedbuffer", "internal/processtest"}

// withoutNet are packages that link neither net nor, through it, the C library: a program that
// speaks on standard input and output starts faster and is smaller.
var withoutNet = []string{"framing", "rpc", "rpc/mcp", "dispatch", "server", "client", "dispatch/cli"}

type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	GoFiles    []string
	Export     string // the file with its types, if go list had the flag -export
}

// list runs go list with args and returns the packages that it prints.
func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil && runtime.GOOS == "windows" {
		t.Skip("no go command; only Windows skips this test")
	}
	cmd := exec.Command("go",
		append([]string{"list", "-json=ImportPath,Standard,Imports,Deps,GoFiles,Export"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	assert.NilError(t, err)
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func shipped(t *testing.T) []goPackage {
	return slices.DeleteFunc(list(t, "./..."), func(p goPackage) bool {
		name := strings.TrimPrefix(p.ImportPath, module)
		return len(p.GoFiles) == 0 || slices.ContainsFunc(unshipped, func(o string) bool {
			return name == o || strings.HasPrefix(name, o+"/")
		})
	})
}

func TestImportTable(t *testing.T) {
	may := map[string][]string{}
	for _, layer := range layers {
		may[layer.name] = layer.may
	}
	for _, p := range shipped(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := may[name]
		if !known {
			t.Errorf("%s is in no row: add it to the table in layers_test.go and to "+
				"CONTRIBUTING.md", name)
			continue
		}
		for _, path := range p.Imports {
			if other, ours := strings.CutPrefix(path, module); ours &&
				!slices.Contains(allowed, other) {
				t.Errorf("%s imports %s: avoid that, or add it to the row of %s in the table",
					name, other, name)
			}
		}
	}
}

// A package may import only packages that precede it in the table, so the table has no cycle.
func TestTableHasNoCycle(t *testing.T) {
	seen := map[string]bool{}
	for _, layer := range layers {
		for _, other := range layer.may {
			assert.Assert(t, seen[other],
				"%s may import %s, which does not precede it in the table", layer.name, other)
		}
		assert.Assert(t, !seen[layer.name], "%s is listed twice", layer.name)
		seen[layer.name] = true
	}
}

func TestOnlyTheStandardLibraryIsLinked(t *testing.T) {
	standard := map[string]bool{"C": true}
	for _, p := range list(t, "-deps", "./...") {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range shipped(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, dep := range p.Deps {
			if !standard[dep] && !strings.HasPrefix(dep, module) {
				t.Errorf("%s links %s, which is outside the standard library", name, dep)
			}
			if dep == "net/http" && !slices.Contains(mayLinkHTTP, name) &&
				!strings.HasPrefix(name, "cmd/stdwire/") {
				t.Errorf("%s links net/http: avoid that, or add it to mayLinkHTTP", name)
			}
			if dep == "net" && slices.Contains(withoutNet, name) {
				t.Errorf("%s links net", name)
			}
		}
	}
}

// folderOf returns the top-level folder of which a package is a part. A package of internal is one
// of its own: packages of several folders import it, and applications may not.
func folderOf(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if first == "internal" {
		return name
	}
	return first
}

// Two top-level folders may not depend on each other, even if none of their packages do.
func TestFoldersHaveNoCycle(t *testing.T) {
	// the folders that a folder imports, each with an example
	imports := map[string]map[string]string{}
	for _, p := range shipped(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		from := folderOf(name)
		for _, path := range p.Imports {
			other, ours := strings.CutPrefix(path, module)
			to := folderOf(other)
			if !ours || to == from {
				continue
			}
			if imports[from] == nil {
				imports[from] = map[string]string{}
			}
			imports[from][to] = name + " imports " + other
		}
	}
	var visit func(folder string, path []string)
	visit = func(folder string, path []string) {
		if i := slices.Index(path, folder); i >= 0 {
			for j, from := range path[i:] {
				to := append(path[i+1:], folder)[j]
				t.Errorf("a cycle of top-level folders: %s", imports[from][to])
			}
			return
		}
		for to := range imports[folder] {
			visit(to, append(slices.Clone(path), folder))
		}
	}
	for folder := range imports {
		visit(folder, nil)
	}
}

// Package main only connects the packages under cmd/stdwire/internal.
func TestMainIsSmall(t *testing.T) {
	const maxLines = 2000
	lines := 0
	for _, p := range list(t, "./cmd/stdwire") {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join("../../cmd/stdwire", name))
			assert.NilError(t, err)
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	if lines == 0 || lines >= maxLines {
		t.Errorf("cmd/stdwire has %d lines, want 1 to %d: move code to a package below "+
			"cmd/stdwire/internal", lines, maxLines-1)
	}
}
