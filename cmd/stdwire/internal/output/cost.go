package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Cost is what definitions take of the context of a model that gets all of them.
type Cost struct {
	Bytes  int `json:"bytes"`  // of JSON without white space
	Tokens int `json:"tokens"` // about: a quarter of the bytes
}

// CostOf returns the cost of definitions of so many bytes.
func CostOf(bytes int) Cost { return Cost{bytes, hosts.Tokens(bytes)} }

func (c Cost) String() string {
	return fmt.Sprintf("%s, ≈ %d tokens", command.Size(c.Bytes), c.Tokens)
}

// DefinitionBytes returns the number of bytes of a definition without white space.
func DefinitionBytes(definition []byte) int {
	var b bytes.Buffer
	if json.Compact(&b, definition) != nil {
		return len(definition)
	}
	return b.Len()
}

type toolCost struct {
	Name string `json:"name"`
	Cost
}

type serverCost struct {
	Server string `json:"server"`
	Tools  int    `json:"tools"`
	Cost
}

// PrintCost prints what the tools of a list cost, the dearest first. servers are the ids with which
// names begin, for what each server costs; nil if the list is that of one server.
func PrintCost(std *term.Streams, list []byte, servers []string, form string) error {
	var tools []toolCost
	perServer := make([]serverCost, len(servers))
	total := 0
	for definition := range jsonscan.Elements(list) {
		name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
		n := DefinitionBytes(definition)
		total += n
		tools = append(tools, toolCost{name, CostOf(n)})
		for i, id := range servers {
			if perServer[i].Server = id; strings.HasPrefix(name, id+itemname.Separator) {
				perServer[i].Tools++
				perServer[i].Bytes += n
			}
		}
	}
	for i := range perServer {
		perServer[i].Cost = CostOf(perServer[i].Bytes)
	}
	slices.SortStableFunc(tools, func(a, b toolCost) int { return cmp.Compare(b.Bytes, a.Bytes) })
	slices.SortStableFunc(perServer,
		func(a, b serverCost) int { return cmp.Compare(b.Bytes, a.Bytes) })
	if form == "json" {
		return PrintValue(std, struct {
			Tools   []toolCost   `json:"tools"`
			Servers []serverCost `json:"servers,omitempty"`
			Cost
		}{tools, perServer, CostOf(total)})
	}
	rows := [][]string{{"BYTES", "≈ TOKENS", "TOOL"}}
	add := func(c Cost, what string) {
		rows = append(rows, []string{strconv.Itoa(c.Bytes), strconv.Itoa(c.Tokens), what})
	}
	for _, t := range tools {
		add(t.Cost, t.Name)
	}
	for _, s := range perServer {
		add(s.Cost, fmt.Sprintf("all %s of %s", command.Plural(s.Tools, "tool"), s.Server))
	}
	add(CostOf(total), "all "+command.Plural(len(tools), "tool"))
	std.Out.PrintTable(rows)
	return nil
}
