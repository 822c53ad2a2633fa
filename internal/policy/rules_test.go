package policy_test

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/policy"
)

// An ask is a question to a table, and what it answers: a call with arguments, or what lists show.
type ask struct {
	caller *policy.Caller
	item   policy.Item
	args   string // "": lists
	want   policy.Effect
	at     string // Decision.Pointer
}

func caller(subject string, groups ...string) *policy.Caller {
	return &policy.Caller{Known: true, Issuer: "https://idp.example", Subject: subject,
		Groups: groups}
}

func with(c *policy.Caller, claims string) *policy.Caller {
	own := *c
	if err := json.Unmarshal([]byte(claims), &own.Claims); err != nil {
		panic(err)
	}
	return &own
}

func scoped(c *policy.Caller, scopes ...string) *policy.Caller {
	own := *c
	own.Scopes = scopes
	return &own
}

// tool is a tool without hints.
func tool(server, name string) policy.Item {
	return policy.Item{Server: server, Name: name, Risk: policy.Destructive, Open: true}
}

func reading(server, name string) policy.Item {
	return policy.Item{Server: server, Name: name, Risk: policy.Read}
}

var (
	nobody = new(policy.Caller)
	alice  = caller("alice", "engineering")
	bob    = caller("bob")
	admin  = caller("root", "admin")
)

const (
	allow = policy.Allow
	ask_  = policy.Ask
	deny  = policy.Deny
)

// The rules that products document or that their users ask for, each with its opposite.
var realRules = []struct {
	name, table string
	asks        []ask
}{
	{"anyone may call echo", `{"rules":[{"effect":"allow","what":{"tool":"echo"}}]}`, []ask{
		{nobody, tool("s", "echo"), "", allow, ""}, {bob, tool("s", "add"), "", deny, ""}}},
	{"one subject", `{"rules":[{"effect":"allow","who":{"subject":"test-user"},"what":{"tool":"get-sum"}}]}`,
		[]ask{{caller("test-user"), tool("s", "get-sum"), `{}`, allow, ""},
			{bob, tool("s", "get-sum"), "", deny, ""}, {nobody, tool("s", "get-sum"), "", deny, ""}}},
	{"a nested claim", `{"rules":[{"effect":"allow","who":{"claims":{"/nested/key":{"eq":"value"}}},"what":{"tool":"get-env"}}]}`,
		[]ask{{with(bob, `{"nested":{"key":"value"}}`), tool("s", "get-env"), "", allow, ""},
			{with(bob, `{"nested":{"key":"other"}}`), tool("s", "get-env"), "", deny, ""},
			{with(bob, `{"nested":{"key":"value","Key":"x"}}`), tool("s", "get-env"), "", deny, ""},
			{bob, tool("s", "get-env"), "", deny, ""}}},
	{"no name begins with delete", `{"default":"allow","rules":[{"effect":"deny","what":{"tool":"delete*"}}]}`,
		[]ask{{admin, tool("s", "delete_all"), "", deny, ""}, {bob, tool("s", "undelete"), "", allow, ""}}},
	{"no name contains admin", `{"default":"allow","rules":[{"effect":"hide","what":{"tool":"*admin*"}}]}`,
		[]ask{{admin, tool("s", "the_admin_tool"), `{}`, deny, ""}, {bob, tool("s", "adm"), "", allow, ""}}},
	{"a scope for a server's tool", `{"rules":[{"effect":"allow","who":{"scope":"read"},"what":{"server":"github","tool":"list_issues"}}]}`,
		[]ask{{scoped(bob, "write", "read"), tool("github", "list_issues"), "", allow, ""},
			{scoped(bob, "write"), tool("github", "list_issues"), "", deny, ""},
			{scoped(bob, "read"), tool("gitlab", "list_issues"), "", deny, ""}}},
	{"tenants and departments", `{"rules":[{"effect":"allow","who":{"claims":{"tenant":{"in":["acme","globex"]},"departments":{"contains":"engineering"}}},"what":{"tool":"sum"}}]}`,
		[]ask{{with(bob, `{"tenant":"globex","departments":["it","engineering"]}`), tool("s", "sum"), "", allow, ""},
			{with(bob, `{"tenant":"globex","departments":"engineering"}`), tool("s", "sum"), "", allow, ""},
			{with(bob, `{"tenant":"initech","departments":["engineering"]}`), tool("s", "sum"), "", deny, ""},
			{with(bob, `{"tenant":"acme"}`), tool("s", "sum"), "", deny, ""}}},
	// the tenant of a header is a claim of the identity
	{"a pattern of an argument, for a tenant", `{"rules":[{"effect":"allow","who":{"claims":{"tenant":{"eq":"t-123"}}},"what":{"tool":"search"},"arguments":{"/text":{"glob":"report-????*"}}}]}`,
		[]ask{{with(bob, `{"tenant":"t-123"}`), tool("s", "search"), "", allow, ""},
			{with(bob, `{"tenant":"t-123"}`), tool("s", "search"), `{"text":"report-2026-1"}`, allow, ""},
			{with(bob, `{"tenant":"t-123"}`), tool("s", "search"), `{"text":"all"}`, deny, "/text"},
			{with(bob, `{"tenant":"t-9"}`), tool("s", "search"), "", deny, ""}}},
	{"roles of a server in a claim", `{"rules":[{"effect":"allow","who":{"claims":{"/resource_access/github/roles":{"contains":"tool:list_issues"}}},"what":{"server":"github","tool":"list_issues"}}]}`,
		[]ask{{with(bob, `{"resource_access":{"github":{"roles":["tool:list_issues"]}}}`), tool("github", "list_issues"), "", allow, ""},
			{with(bob, `{"resource_access":{"gitlab":{"roles":["tool:list_issues"]}}}`), tool("github", "list_issues"), "", deny, ""}}},
	{"admins may do all", `{"rules":[{"effect":"allow","who":{"group":"admin"}}]}`, []ask{
		{admin, tool("s", "x"), `{}`, allow, ""}, {bob, tool("s", "x"), `{}`, deny, ""},
		{admin, policy.Item{Kind: policy.Resource, Server: "s", Name: "db://x"}, "", allow, ""}}},
	{"only some operations", `{"rules":[{"effect":"allow","what":{"tool":"calculator"},"arguments":{"/operation":{"in":["add","subtract"]}}}]}`,
		[]ask{{bob, tool("s", "calculator"), "", allow, ""},
			{bob, tool("s", "calculator"), `{"operation":"add"}`, allow, ""},
			{bob, tool("s", "calculator"), `{"operation":"divide"}`, deny, "/operation"},
			{bob, tool("s", "calculator"), `{"operation":"add","operation":"divide"}`, deny, "/operation"},
			{bob, tool("s", "calculator"), `{"operation":"add","Operation":"divide"}`, deny, "/operation"},
			{bob, tool("s", "calculator"), `{}`, deny, "/operation"}}},
	{"a default is for what is missing", `{"rules":[{"effect":"allow","arguments":{"/path":{"prefix":"/data/","default":"/data/"}}},{"effect":"deny","arguments":{"/f/db":{"eq":"production","default":"test"}}}]}`,
		[]ask{{bob, tool("s", "x"), `{}`, allow, ""},
			{bob, tool("s", "x"), `{"path":"/etc/passwd"}`, deny, "/path"},
			{bob, tool("s", "x"), `{"Path":"/etc/passwd"}`, deny, "/path"},
			{bob, tool("s", "x"), `{"path":"/data/x","path":"/etc/passwd"}`, deny, "/path"},
			{bob, tool("s", "x"), `{"f":null}`, allow, ""},
			{bob, tool("s", "x"), `{"f":{"db":"production"}}`, deny, "/f/db"},
			{bob, tool("s", "x"), `{"f":{"DB":"production"}}`, deny, "/f/db"},
			{bob, tool("s", "x"), `{"f":"{\"db\":\"production\"}"}`, deny, "/f/db"}}},
	{"a URI that leads elsewhere", `{"rules":[{"effect":"allow","what":{"resource":"file:///public/*"}}]}`,
		[]ask{{bob, policy.Item{Kind: policy.Resource, Server: "s", Name: "file:///public/x"}, "", allow, ""},
			{bob, policy.Item{Kind: policy.Resource, Server: "s", Name: "file:///public/../x"}, "", deny, ""}}},
	{"a level up to a claim", `{"rules":[{"effect":"allow","arguments":{"/data_level":{"le":{"claim":"clearance_level"}}}}]}`,
		[]ask{{with(bob, `{"clearance_level":2}`), tool("s", "x"), `{"data_level":2.0}`, allow, ""},
			{with(bob, `{"clearance_level":2}`), tool("s", "x"), `{"data_level":3}`, deny, "/data_level"},
			{with(bob, `{"clearance_level":2}`), tool("s", "x"), `{"data_level":"1"}`, deny, "/data_level"},
			{bob, tool("s", "x"), `{"data_level":1}`, deny, "/data_level"}}},
	{"the owner's own", `{"rules":[{"effect":"allow","arguments":{"/owner":{"eq":{"claim":"sub"}}}}]}`, []ask{
		{bob, tool("s", "x"), `{"owner":"bob"}`, allow, ""},
		{alice, tool("s", "x"), `{"owner":"bob"}`, deny, "/owner"},
		{nobody, tool("s", "x"), `{"owner":""}`, deny, "/owner"}}},
	{"public or one's own", `{"rules":[{"effect":"allow","arguments":{"/visibility":{"eq":"public"}}},{"effect":"allow","arguments":{"/visibility":{"eq":"private"},"/owner":{"eq":{"claim":"sub"}}}}]}`,
		[]ask{{nobody, tool("s", "x"), `{"visibility":"public"}`, allow, ""},
			{bob, tool("s", "x"), `{"visibility":"private","owner":"bob"}`, allow, ""},
			{bob, tool("s", "x"), `{"visibility":"private","owner":"alice"}`, deny, "/visibility"}}},
	{"a team and its server", `{"rules":[{"effect":"allow","who":{"claims":{"team":{"eq":"finance"}}},"what":{"server":"billing-api"}}]}`,
		[]ask{{with(bob, `{"team":"finance"}`), tool("billing-api", "x"), "", allow, ""},
			{with(bob, `{"team":"it"}`), tool("billing-api", "x"), "", deny, ""}}},
	{"developers call, viewers read", `{"rules":[{"effect":"allow","who":{"group":"developers"}},{"effect":"allow","who":{"group":"viewers"},"what":{"resource":"*","prompt":"*"}}]}`,
		[]ask{{caller("d", "developers"), tool("s", "x"), "", allow, ""},
			{caller("v", "viewers"), tool("s", "x"), "", deny, ""},
			{caller("v", "viewers"), policy.Item{Kind: policy.Resource, Server: "s", Name: "a://b"}, "", allow, ""},
			{caller("v", "viewers"), policy.Item{Kind: policy.Prompt, Server: "s", Name: "p"}, "", allow, ""}}},
	{"what destroys needs a second factor", `{"default":"allow","rules":[{"effect":"deny","what":{"kind":"destructive"},"unless":{"claims":{"amr":{"contains":"mfa"}}}}]}`,
		[]ask{{with(bob, `{"amr":["pwd","mfa"]}`), tool("s", "drop"), "", allow, ""},
			{with(bob, `{"amr":["pwd"]}`), tool("s", "drop"), "", deny, ""},
			{bob, tool("s", "drop"), "", deny, ""}, {nobody, tool("s", "drop"), "", deny, ""},
			{bob, reading("s", "list"), "", allow, ""}}},
	{"employees and their server", `{"rules":[{"effect":"allow","who":{"group":"employee"},"what":{"server":"askHR","tool":"get_leave_balance"}}]}`,
		[]ask{{caller("e", "employee"), tool("askHR", "get_leave_balance"), "", allow, ""},
			{caller("e", "employee"), tool("askHR", "set_leave_balance"), "", deny, ""}}},
	{"an argument contains a text", `{"rules":[{"effect":"allow","arguments":{"/repo_path":{"glob":"*IBM*"}}}]}`, []ask{
		{bob, tool("s", "x"), `{"repo_path":"git/IBM/x"}`, allow, ""},
		{bob, tool("s", "x"), `{"repo_path":"git/IBM/../x"}`, deny, "/repo_path"},
		{bob, tool("s", "x"), `{"repo_path":["IBM"]}`, deny, "/repo_path"}}},
	{"a number in a list, or the text that a server may take for it", `{"default":"allow","rules":[{"effect":"deny","arguments":{"/id":{"contains":7}}}]}`, []ask{
		{bob, tool("s", "x"), `{"id":[1,7.0]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":[1,2]}`, allow, ""},
		{bob, tool("s", "x"), `{"id":[]}`, allow, ""},
		{bob, tool("s", "x"), `{"id":"7"}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":["7"]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":[1,"7"]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":["7",1]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":[[7]]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":[{}]}`, deny, "/id"},
		{bob, tool("s", "x"), `{"id":[null]}`, deny, "/id"}}},
	{"a list that cannot be read grants nothing", `{"rules":[{"effect":"allow","arguments":{"/id":{"contains":7}}},{"effect":"allow","unless":{"claims":{"group":{"contains":"guest"}}}}]}`, []ask{
		{with(bob, `{"group":[1]}`), tool("s", "x"), `{"id":["7",7]}`, allow, ""},
		{with(bob, `{"group":[1]}`), tool("s", "x"), `{"id":["7"]}`, deny, "/id"},
		{with(bob, `{"group":["staff"]}`), tool("s", "x"), `{"id":["7"]}`, allow, ""}}},
	{"deleting is for admins, bash not for externals", `{"default":"allow","rules":[{"effect":"deny","what":{"tool":"*_delete"},"unless":{"group":"admin"}},{"effect":"deny","who":{"group":"externals"},"what":{"tool":"bash"}}]}`,
		[]ask{{admin, tool("s", "x_delete"), "", allow, ""}, {bob, tool("s", "x_delete"), "", deny, ""},
			{caller("e", "externals"), tool("s", "bash"), "", deny, ""}, {bob, tool("s", "bash"), "", allow, ""},
			{nobody, tool("s", "bash"), "", deny, ""}}},
	{"guests see what only reads", `{"default":"allow","rules":[{"effect":"hide","who":{"group":["guest","read"]},"what":{"kind":["write","destructive"]}}]}`,
		[]ask{{caller("g", "guest"), reading("s", "list"), "", allow, ""},
			{caller("g", "read"), tool("s", "x"), "", deny, ""}, {bob, tool("s", "x"), "", allow, ""}}},
	{"patterns of servers per client", `{"rules":[{"effect":"allow","who":{"client":"cursor"},"what":{"server":["git*","jira"]}}]}`,
		[]ask{{&policy.Caller{Known: true, ClientID: "cursor"}, tool("github", "x"), "", allow, ""},
			{&policy.Caller{Known: true, ClientID: "other"}, tool("github", "x"), "", deny, ""},
			{&policy.Caller{Known: true, ClientID: "cursor"}, tool("db", "x"), "", deny, ""}}},
	{"a profile that reads and creates", `{"rules":[{"effect":"allow","who":{"profile":"safe"},"what":{"kind":"read"}},{"effect":"allow","who":{"profile":"safe"},"what":{"tool":"create_*"}},{"effect":"deny","who":{"profile":"safe"},"what":{"tool":"*delete*"}}]}`,
		[]ask{{&policy.Caller{Profile: "safe"}, reading("s", "get"), "", allow, ""},
			{&policy.Caller{Profile: "safe"}, tool("s", "create_x"), "", allow, ""},
			{&policy.Caller{Profile: "safe"}, reading("s", "delete_x"), "", deny, ""},
			{&policy.Caller{}, reading("s", "get"), "", deny, ""}}},
	{"hidden, read only, allowed, asked", `{"rules":[{"effect":"hide","what":{"tool":"secret"}},{"effect":"allow","what":{"server":"ro","kind":"read"}},{"effect":"allow","what":{"tool":"free"}},{"effect":"ask","who":{"group":"engineering"},"what":{"tool":"deploy"}}]}`,
		[]ask{{alice, tool("s", "secret"), "", deny, ""}, {alice, reading("ro", "x"), "", allow, ""},
			{alice, tool("ro", "x"), "", deny, ""}, {nobody, tool("s", "free"), "", allow, ""},
			{alice, tool("s", "deploy"), `{}`, ask_, ""}, {bob, tool("s", "deploy"), `{}`, deny, ""},
			{nobody, tool("s", "deploy"), `{}`, deny, ""}}},
	{"roles per tool", `{"rules":[{"effect":"allow","who":{"group":["ops","dev"]},"what":{"server":"k8s","tool":"get_pods"}},{"effect":"allow","who":{"group":"ops"},"what":{"server":"k8s","tool":"drain"}}]}`,
		[]ask{{caller("d", "dev"), tool("k8s", "get_pods"), "", allow, ""},
			{caller("d", "dev"), tool("k8s", "drain"), "", deny, ""},
			{caller("o", "ops"), tool("k8s", "drain"), "", allow, ""}}},
	// and what the semantics say beyond these
	{"a restriction that cannot be evaluated", `{"default":"allow","rules":[{"effect":"deny","arguments":{"/path":{"prefix":"/etc/"}}},{"effect":"ask","what":{"tool":"send"},"arguments":{"/to":{"glob":"*@example.com"}}}]}`,
		[]ask{{bob, tool("s", "x"), "", allow, ""}, {bob, tool("s", "x"), `{"path":"/tmp/x"}`, allow, ""},
			{bob, tool("s", "x"), `{"path":"/etc/x"}`, deny, "/path"},
			{bob, tool("s", "x"), `{"path":"/tmp/../etc/x"}`, deny, "/path"},
			{bob, tool("s", "x"), `{}`, deny, "/path"},
			{bob, tool("s", "x"), `{"PATH":"/etc/x","path":"/tmp"}`, deny, "/path"},
			{bob, tool("s", "send"), `{"path":"","to":1}`, ask_, ""}}},
	{"a value in place of a missing one", `{"default":"allow","rules":[{"effect":"deny","arguments":{"/force":{"eq":true,"default":false}}}]}`,
		[]ask{{bob, tool("s", "x"), `{}`, allow, ""}, {bob, tool("s", "x"), "null", allow, ""},
			{bob, tool("s", "x"), `{"force":true}`, deny, "/force"},
			{bob, tool("s", "x"), `{"force":"true"}`, deny, "/force"}}},
	{"an exception by arguments", `{"default":"allow","rules":[{"effect":"deny","what":{"tool":"query"},"unless":{"arguments":{"/db":{"eq":"test"}}}}]}`,
		[]ask{{bob, tool("s", "query"), "", allow, ""}, {bob, tool("s", "query"), `{"db":"test"}`, allow, ""},
			{bob, tool("s", "query"), `{"db":"prod"}`, deny, "/db"}, {bob, tool("s", "query"), `{}`, deny, "/db"}}},
	{"templates stand for their URIs", `{"rules":[{"effect":"allow","what":{"resource":"db://test/*"}}]}`, []ask{
		{bob, policy.Item{Kind: policy.Template, Server: "s", Name: "db://{env}/{table}"}, "", allow, ""},
		{bob, policy.Item{Kind: policy.Template, Server: "s", Name: "db://test/{table}"}, "", allow, ""},
		{bob, policy.Item{Kind: policy.Template, Server: "s", Name: "file:///{path}"}, "", deny, ""},
		{bob, policy.Item{Kind: policy.Resource, Server: "s", Name: "db://prod/x"}, "", deny, ""},
		{bob, policy.Item{Kind: policy.Resource, Name: "db://test/x"}, "", allow, ""}}},
	{"no rule", `{"rules":[]}`, []ask{{admin, reading("s", "x"), "", deny, ""}}},
}

func TestRealRules(t *testing.T) {
	for _, tt := range realRules {
		p, err := policy.ParseFile("policy.json", []byte(tt.table))
		assert.NilError(t, err, tt.name)
		for i, a := range tt.asks {
			d := p.Shows(a.caller, a.item)
			if a.args != "" {
				assert.Assert(t, a.want == deny || d.Effect != deny, "%s %d: hidden", tt.name, i)
				d = p.Decide(a.caller, a.item, []byte(a.args))
				assert.Assert(t, d.Certain, "%s %d: a call is decided", tt.name, i)
			}
			assert.Equal(t, d.Effect, a.want, "%s %d", tt.name, i)
			assert.Equal(t, d.Pointer, a.at, "%s %d", tt.name, i)
		}
	}
}
