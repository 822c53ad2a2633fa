package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// FindCommand is stdwire find.
func FindCommand() command.Command {
	return command.Command{
		Name: "find", Usage: "QUERY… [--limit N] [--read-only] [--explain TOOL] [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "find the tools for a task among all configured servers",
		Help: `QUERY is a few words, such as those of a model, or a name. The tools of all configured servers are
ranked, or those of the server that is given, as find_tool of a gateway ranks them, and with the
overrides of the configuration: by the words of names, titles, descriptions and parameters. Words
that few tools have count more. If the words that no tool has say more than the others, nothing is
found; the exit code is then 5. With --read-only only tools are found whose readOnlyHint is true.

What a configured server had when a gateway last listed it is remembered, and the server is not
started. Otherwise it is. stdwire serve --servers --warm-lists lists all servers anew.

--explain TOOL says for each word what it counts for a tool, and the place of the tool.

--eval FILE measures how well tools are found. FILE has a query and the tools that fit it on each
line; with "tools": [], nothing should be found:

  {"query": "what is in this folder", "tools": ["list_directory"]}

It prints which share of the tools is among the first 1, 3, 5 and 10, the mean of 1/place of the
first that fits (MRR), and the tools that are not among the first ten.

  stdwire find open a pull request
  stdwire find --explain create_issue open a pull request
  stdwire find --eval queries.jsonl -s github`,
		Make: func() (command.Grammar, command.Runner) {
			o := &findOptions{target: target.NewTarget().OrServers()}
			flags := append([]command.Flag{command.FormatFlag(&o.output, "text", "json"),
				command.NumberFlag(&o.limit, "--limit", "N", 1, 100,
					"how many tools to print at most (default 5)"),
				command.SwitchFlag(&o.readOnly, "--read-only",
					"only tools that say that they change nothing"),
				command.TextFlag(&o.explain, "--explain", "TOOL",
					"say what each word counts for this tool"),
				command.FileFlag(&o.eval, "--eval", "measure how well the tools of a file are found"),
				output.ListTimeoutFlag(&o.target.ListTimeout)}, o.target.Flags()...)
			return command.Grammar{Flags: flags, Check: o.check, Word: func(word string) error {
				o.words = append(o.words, word)
				return nil
			}, Connection: o.target.SetConnection, Command: o.target.Command}, o.run
		},
	}
}

// findOptions are the options of stdwire find.
type findOptions struct {
	target   *target.Target
	words    []string
	limit    int // 0: the default
	readOnly bool
	explain  string
	eval     string
	output   string
}

func (o *findOptions) check(given command.Given) error {
	switch {
	case o.eval != "" && o.explain != "":
		return command.Usagef("--eval and --explain exclude each other")
	case o.eval != "" && o.words != nil:
		return command.Usagef("--eval has its queries in a file").WithHint(
			"leave out the words " + strings.Join(o.words, " "))
	case slices.Contains(given, "--limit") && o.eval+o.explain != "":
		return command.Usagef("--limit has no effect with --eval and --explain")
	case o.readOnly && o.eval+o.explain != "":
		return command.Usagef("--read-only has no effect with --eval and --explain")
	case o.eval == "" && strings.TrimSpace(strings.Join(o.words, "")) == "":
		return command.Usagef("which task?").WithHint(
			"describe it in a few words: stdwire find open a pull request")
	}
	return nil
}

func (o *findOptions) run(ctx context.Context, std *term.Streams) error {
	var queries []toolsearch.Question
	if o.eval != "" {
		var err error
		if queries, err = readQueries(o.eval); err != nil {
			return err
		}
	}
	tools, err := o.tools(ctx, std)
	if err != nil {
		return err
	}
	entries := make([]toolsearch.Tool, len(tools))
	for i, t := range tools {
		entries[i] = toolsearch.Tool{Server: t.server, Name: t.tool.Name, Public: t.public,
			Definition: t.definition}
	}
	index := toolsearch.New(entries)
	query := strings.Join(o.words, " ")
	switch {
	case o.eval != "":
		return o.evaluate(std, index, tools, queries)
	case o.explain != "":
		return o.explainTool(std, index, tools, query)
	}
	found, writing := o.search(index, tools, query)
	return o.printFound(std, tools, query, found, writing)
}

// search searches the tools. writing is how many match that --read-only leaves out.
func (o *findOptions) search(x *toolsearch.Index, tools []searchedTool,
	query string) (found toolsearch.Result, writing int) {
	options := toolsearch.Options{Limit: o.limit}
	if o.readOnly {
		reads := func(n int) bool { return tools[n].tool.Annotations.ReadOnly() }
		options.Allow = func(n int) bool { return !reads(n) }
		writing = x.Search(query, options).Found
		options.Allow = reads
	}
	return x.Search(query, options), writing
}

// A searchedTool is a tool that may be found, as a gateway offers it.
type searchedTool struct {
	server string // "" if the server is not one of the configuration
	public string // with the ID of the server; "" without server
	own    string // the server's own name, if an override has another one
	tool   *mcp.Tool

	definition []byte
}

// names returns the names of the tool, of its own and as a gateway names it.
func (t *searchedTool) names() []string {
	return slices.DeleteFunc([]string{t.tool.Name, t.public, t.own},
		func(name string) bool { return name == "" })
}

// is reports whether the tool has this name.
func (t *searchedTool) is(name string) bool { return slices.Contains(t.names(), name) }

// newSearchedTool returns a tool of a configured server.
func newSearchedTool(server string, offered target.OfferedTool) searchedTool {
	t := searchedTool{server: server, tool: offered.Tool, definition: offered.Definition,
		public: host.PublicName(server, offered.Name, host.DefaultMaxName)}
	if offered.Own != offered.Name {
		t.own = offered.Own
	}
	return t
}

// name returns the name that distinguishes it from the other tools.
func (t *searchedTool) name() string {
	if t.public != "" {
		return t.public
	}
	return t.tool.Name
}

// tools returns the tools of the target: what is remembered of configured servers, or what they
// list.
func (o *findOptions) tools(ctx context.Context, std *term.Streams) ([]searchedTool, error) {
	t := o.target
	t.Servers = t.Servers || t.IsBuiltin() && t.Builtin.FirstFlag() == ""
	if err := t.Check(); err != nil {
		return nil, err
	}
	if !t.Servers && t.Configured.ID == "" {
		return o.list(ctx, std)
	}
	servers, err := t.Remembered()
	if err != nil {
		return nil, err
	}
	if t.Servers && len(servers) == 0 {
		return nil, &command.Failure{Code: "config", Why: "there is no configured server to use",
			Hint: "stdwire list shows which there are; or name another: -s URL, -- COMMAND…, --root ."}
	}
	unknown := func(s target.RememberedServer) bool { return s.Tools == nil }
	if len(servers) > 0 && !slices.ContainsFunc(servers, unknown) {
		return rememberedTools(servers), nil
	}
	listed, err := o.list(ctx, std)
	if err != nil || !t.Servers {
		return listed, err
	}
	if servers, err = t.Remembered(); err != nil { // now with the lists of the gateway
		return nil, err
	}
	all := rememberedTools(servers)
	for _, tool := range listed {
		for _, s := range servers {
			name, found := strings.CutPrefix(tool.tool.Name, s.ID+itemname.Separator)
			if found && unknown(s) {
				own := *tool.tool
				own.Name = name
				all = append(all, searchedTool{server: s.ID, public: tool.tool.Name, tool: &own,
					definition: tool.definition})
				break
			}
		}
	}
	return all, nil
}

func rememberedTools(servers []target.RememberedServer) (all []searchedTool) {
	for _, s := range servers {
		for _, tool := range s.Tools {
			all = append(all, newSearchedTool(s.ID, tool))
		}
	}
	return all
}

// list lists the tools of the target.
func (o *findOptions) list(ctx context.Context, std *term.Streams) (all []searchedTool, err error) {
	t := o.target
	err = t.Use(ctx, std, func(c *client.Client) error {
		defer t.WarnDown(ctx, std, c)
		list, err := t.Lists()[0].JSON(ctx, c)
		if err != nil {
			return err
		}
		var definitions []json.RawMessage
		for definition := range jsonscan.Elements(list) {
			definitions = append(definitions, definition)
		}
		for _, tool := range t.Configured.OfferedTools(definitions) {
			listed := searchedTool{tool: tool.Tool, definition: tool.Definition}
			if id := t.Configured.ID; id != "" {
				listed = newSearchedTool(id, tool)
			}
			all = append(all, listed)
		}
		return nil
	})
	return all, err
}

// A foundTool is a tool that is found, as JSON.
type foundTool struct {
	Server     string          `json:"server,omitempty"`
	Name       string          `json:"name"`
	Own        string          `json:"own,omitempty"`    // if an override has another name
	Public     string          `json:"public,omitempty"` // as a gateway names it
	Score      float64         `json:"score"`
	Exact      bool            `json:"exact"`
	Definition json.RawMessage `json:"definition"`
}

// printFound prints what is found. The error says that nothing is.
func (o *findOptions) printFound(std *term.Streams, tools []searchedTool, query string,
	r toolsearch.Result, writing int) error {
	if o.output == "json" {
		found := []foundTool{}
		for _, hit := range r.Hits {
			t := tools[hit.Tool]
			found = append(found, foundTool{t.server, t.tool.Name, t.own, t.public, hit.Score,
				hit.Exact, t.definition})
		}
		if err := output.PrintValue(std, struct {
			Query     string      `json:"query"`
			Tools     int         `json:"tools"` // that were searched
			Found     int         `json:"found"`
			Writing   int         `json:"writing,omitempty"` // that match and are not read-only
			Hits      []foundTool `json:"hits"`
			Unknown   []string    `json:"unknown"` // words that no tool has
			Abstained bool        `json:"abstained"`
		}{query, len(tools), r.Found, writing, found, r.Unknown,
			r.Abstained}); err != nil {
			return err
		}
	} else {
		for i, hit := range r.Hits {
			if i > 0 {
				std.Out.Print("\n")
			}
			t := tools[hit.Tool]
			std.Out.Print(output.FoundTool(t.server, t.own, t.tool, std.Out.Columns()))
		}
	}
	unknown, one := "", "tool"
	if o.readOnly {
		one = "read-only tool"
	}
	if r.Unknown != nil {
		unknown = "no " + one + " has " + quoted(r.Unknown)
	}
	if writing > 0 {
		unknown = command.JoinNonEmpty("; ", unknown, fmt.Sprintf(
			"%s that fit may change something", command.Plural(writing, "tool")))
	}
	if len(r.Hits) == 0 {
		f := &command.Failure{Code: "not_found",
			Why: fmt.Sprintf("none of %s fits", command.Plural(len(tools), "tool"))}
		if unknown != "" {
			f.Why += ": " + unknown
		}
		return f.WithHint("look for one step of the task at a time, in other words")
	}
	if more := r.Found - len(r.Hits); more > 0 && o.output == "text" {
		unknown = command.JoinNonEmpty("; ", fmt.Sprintf("%d more have a word of it", more), unknown)
	}
	if unknown != "" && o.output == "text" {
		std.Err.Printf("note: %s", unknown)
	}
	return nil
}

// quoted returns words in quotation marks.
func quoted(words []string) string {
	return `"` + strings.Join(words, `", "`) + `"`
}
