package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolsearch"
)

// corporaVariable names the folder of checkouts of the corpora that are not committed, each in a
// folder with the name of its repository.
const corporaVariable = "STDWIRE_BENCH_CORPORA"

// A corpus is tools, and questions about them.
type corpus struct {
	name      string
	tools     []toolsearch.Tool
	questions []toolsearch.Question
	tuned     bool // the weights were chosen with these questions
}

// corpora returns the committed corpora, then those below folder.
func corpora(folder string) ([]corpus, error) {
	var all []corpus
	for _, name := range []string{"ironclaw", "mcpproxy"} {
		c, err := committedCorpus(name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if folder == "" {
		return all, nil
	}
	for _, load := range []func(string) ([]corpus, error){metaTool, liveMCPBench, mcpToolBench} {
		more, err := load(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func committedCorpus(name string) (corpus, error) {
	c := corpus{name: name, tuned: name == "ironclaw"}
	folder := filepath.Join("..", "toolsearch", "testdata", name) // as go run . is run here
	data, err := os.ReadFile(filepath.Join(folder, "tools.jsonl"))
	if err != nil {
		return c, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := bytes.Clone(lines.Bytes())
		server, _ := jsonscan.Text(jsonscan.Member(line, "server"))
		c.add(server, jsonscan.Member(line, "tool"))
	}
	questions, err := os.Open(filepath.Join(folder, "questions.jsonl"))
	if err != nil {
		return c, err
	}
	defer questions.Close()
	c.questions, err = toolsearch.ReadQuestions(questions)
	return c, err
}

func (c *corpus) add(server string, definition []byte) {
	name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
	c.tools = append(c.tools, toolsearch.Tool{Server: server, Name: name,
		Public: server + "__" + name, Definition: definition})
}

// readCorpus decodes a JSON file of a checkout.
func readCorpus(into any, path ...string) error {
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(path...), err)
	}
	return nil
}

// maxMetaTool is the number of questions of each half of MetaTool that are asked.
const maxMetaTool = 3000

// metaTool returns the halves of MetaTool, by a digest of the question: the one that weights were
// chosen with, and the other. Its tools have names and descriptions only.
func metaTool(folder string) ([]corpus, error) {
	folder = filepath.Join(folder, "MetaTool", "dataset")
	var descriptions map[string]string
	if err := readCorpus(&descriptions, folder, "plugin_des.json"); err != nil {
		return nil, err
	}
	var c corpus
	names := []string{}
	for name := range descriptions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		definition, err := json.Marshal(map[string]string{"name": name,
			"description": descriptions[name]})
		if err != nil {
			return nil, err
		}
		c.add("", definition)
	}
	file, err := os.Open(filepath.Join(folder, "data", "all_clean_data.csv"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	digest := func(row []string) string {
		sum := sha256.Sum256([]byte(row[0]))
		return string(sum[:])
	}
	rows = rows[1:]
	slices.SortStableFunc(rows, func(a, b []string) int {
		return strings.Compare(digest(a), digest(b))
	})
	halves := []corpus{{name: "MetaTool, tuned half", tools: c.tools, tuned: true},
		{name: "MetaTool, other half", tools: c.tools}}
	for _, row := range rows {
		half := &halves[digest(row)[31]&1]
		if len(half.questions) < maxMetaTool {
			half.questions = append(half.questions,
				toolsearch.Question{Query: row[0], Tools: row[1:2]})
		}
	}
	return halves, nil
}

// numbered matches the number at the beginning of a step or tool.
var numbered = regexp.MustCompile(`^\s*\d+[.)]\s*`)

// liveMCPBench returns the steps of the tasks that have one tool each step, and all whole tasks.
func liveMCPBench(folder string) ([]corpus, error) {
	folder = filepath.Join(folder, "LiveMCPBench")
	var entries []struct {
		Tools map[string]struct {
			Tools []json.RawMessage
		}
	}
	if err := readCorpus(&entries, folder, "tools", "LiveMCPTool", "tools.json"); err != nil {
		return nil, err
	}
	steps, tasks := corpus{name: "LiveMCPBench, steps"}, corpus{name: "LiveMCPBench, whole tasks"}
	known := map[string]bool{}
	for _, entry := range entries {
		for server, list := range entry.Tools {
			for _, definition := range list.Tools {
				compact, err := jsonscan.AppendCompact(nil, definition)
				if err != nil {
					return nil, err
				}
				steps.add(server, compact)
				known[steps.tools[len(steps.tools)-1].Name] = true
			}
		}
	}
	slices.SortFunc(steps.tools, func(a, b toolsearch.Tool) int {
		return strings.Compare(a.Public, b.Public)
	})
	tasks.tools = steps.tools
	var annotated []struct {
		Question string
		Metadata struct{ Steps, Tools string } `json:"Annotator Metadata"`
	}
	err := readCorpus(&annotated, folder, "annotated_data", "all_annotations.json")
	if err != nil {
		return nil, err
	}
	lines := func(text string) (all []string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(numbered.ReplaceAllString(line, "")); line != "" {
				all = append(all, line)
			}
		}
		return all
	}
	for _, task := range annotated {
		asked, tools := lines(task.Metadata.Steps), lines(task.Metadata.Tools)
		var needed []string
		for i, tool := range tools {
			if !known[tool] {
				continue
			}
			if len(asked) == len(tools) {
				steps.questions = append(steps.questions,
					toolsearch.Question{Query: asked[i], Tools: []string{tool}})
			}
			if !slices.Contains(needed, tool) {
				needed = append(needed, tool)
			}
		}
		if len(needed) > 0 {
			tasks.questions = append(tasks.questions,
				toolsearch.Question{Query: task.Question, Tools: needed})
		}
	}
	return []corpus{steps, tasks}, nil
}

// mcpToolBench returns the questions of MCPToolBench++ that are in the checkout.
func mcpToolBench(folder string) ([]corpus, error) {
	files, err := filepath.Glob(filepath.Join(folder, "MCPToolBenchPP", "data", "*",
		"*_single*.json"))
	if err != nil {
		return nil, err
	}
	c := corpus{name: "MCPToolBench++"}
	seen, asked := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		var entries []struct {
			Tools []struct {
				Name, Description string
				Schema            json.RawMessage `json:"input_schema"`
			}
			Query string
			Calls []struct{ Name string } `json:"function_call_label"`
		}
		// Files of some checkouts are missing or damaged.
		if strings.Contains(file, "_demo") || strings.Contains(file, "_forqwen") ||
			readCorpus(&entries, file) != nil {
			continue
		}
		server := filepath.Base(filepath.Dir(file))
		for _, e := range entries {
			for _, t := range e.Tools {
				if seen[t.Name] {
					continue
				}
				seen[t.Name] = true
				definition, err := json.Marshal(map[string]any{"name": t.Name,
					"description": t.Description, "inputSchema": t.Schema})
				if err != nil {
					return nil, err
				}
				c.add(server, definition)
			}
			if len(e.Calls) == 1 && seen[e.Calls[0].Name] && !asked[e.Query] {
				asked[e.Query] = true
				c.questions = append(c.questions, toolsearch.Question{Query: e.Query,
					Tools: []string{e.Calls[0].Name}})
			}
		}
	}
	if len(c.tools) == 0 {
		return nil, nil
	}
	return []corpus{c}, nil
}
