package calls

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/toolsearch"
)

// explainTool prints what the words of a query count for a tool.
func (o *findOptions) explainTool(std *term.Streams, index *toolsearch.Index, tools []searchedTool,
	query string) error {
	var names, same []string
	at := -1
	for i := range tools {
		names = append(names, tools[i].name())
		if tools[i].is(o.explain) {
			at = i
			same = append(same, tools[i].name())
		}
	}
	switch {
	case at < 0:
		return target.NotFound("tool", o.explain, names, "stdwire ls tools")
	case len(same) > 1:
		return command.Usagef("--explain: several servers have a tool %s", o.explain).WithHint(
			"name one of " + strings.Join(same, ", "))
	}
	e := index.Explain(at, query, toolsearch.Options{})
	if o.output == "json" {
		type word struct {
			Word   string   `json:"word"`
			Known  bool     `json:"known"`
			Rarity float64  `json:"rarity"`
			Term   string   `json:"term,omitempty"`
			Fields []string `json:"fields"`
			Score  float64  `json:"score"`
		}
		words := []word{}
		for _, w := range e.Words {
			fields := append([]string{}, w.Fields...) // not null if the tool lacks the word
			words = append(words, word{w.Word, w.Known, w.Rarity, w.Term, fields, w.Score})
		}
		return output.PrintValue(std, struct {
			Query    string  `json:"query"`
			Tool     string  `json:"tool"`
			Tools    int     `json:"tools"`
			Place    int     `json:"place"` // 0: it is not found
			Score    float64 `json:"score"`
			Exact    bool    `json:"exact"`
			Coverage float64 `json:"coverage"`
			Needed   float64 `json:"needed"`
			Words    []word  `json:"words"`
		}{query, tools[at].name(), len(tools), e.Rank, e.Score, e.Exact, e.Coverage, e.Needed,
			words})
	}
	place := "is not found"
	switch {
	case e.Exact:
		place = fmt.Sprintf("is number %d: the query is its name", e.Rank)
	case e.Rank > 0:
		place = fmt.Sprintf("is number %d, with a score of %.2f", e.Rank, e.Score)
	case e.Coverage < e.Needed:
		place += ", and no tool is: the words of the query that tools have say " +
			percent(e.Coverage) + " of it, less than " + percent(e.Needed)
	}
	std.Out.Print(fmt.Sprintf("of %s, %s %s\n", command.Plural(len(tools), "tool"),
		tools[at].name(), place))
	rows := [][]string{{"WORD", "RARITY", "SCORE", "FOUND"}}
	for _, w := range e.Words {
		found := "no tool has it"
		switch {
		case w.Term != "":
			found = "as " + w.Term + " in " + strings.Join(w.Fields, ", ")
		case w.Known:
			found = "only in other tools"
		}
		rows = append(rows, []string{w.Word, fmt.Sprintf("%.2f", w.Rarity),
			fmt.Sprintf("%.2f", w.Score), found})
	}
	if len(rows) > 1 {
		std.Out.PrintTable(rows)
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
