// Package preview shortens the results of tools to what their reader can take, in both forms, and
// reads the whole results in parts.
//
// A preview has the form of its result. It shows whole units: the first lines of a text, the first
// elements of an array, all members of an object if that is possible. What is largest is shortened
// first. The content and the structured content say the same about what is left out.
package preview

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Member is the member of structured content that describes a preview: see [note].
const Member = "stdwire/preview"

// A Source says where the whole of a result is.
type Source struct {
	ID    string    // for the tool with the name Tool; "": the result is not kept
	Tool  string    // the tool that reads parts of results
	URI   string    // of the result as a resource; "": the client does not know links to resources
	Until time.Time // when it is removed
}

// Size returns the number of characters that a reader of a result gets: of the texts in its content
// or of its structured content, whichever are more, because some readers get only one of them.
func Size(result []byte) int {
	texts := 0
	for block := range jsonscan.Elements(jsonscan.Member(result, "content")) {
		texts += textSize(block)
	}
	return max(texts, chars(jsonscan.Member(result, "structuredContent")))
}

// Applies reports whether a result may be shortened: it is one of a call that has ended, and not
// an error.
func Applies(result []byte) bool {
	kind, _ := jsonscan.Text(jsonscan.Member(result, "resultType"))
	return (kind == "" || kind == string(mcp.ResultComplete)) &&
		string(jsonscan.Member(result, "isError")) != "true"
}

// ErrSchema is returned if no preview matches the outputSchema of the tool.
var ErrSchema = errors.New("no preview matches the outputSchema of the tool")

// ErrNothing is returned for a result of which nothing can be left out, such as a large number.
var ErrNothing = errors.New("nothing of the result can be left out")

// noteFrame is the number of characters around a note in structured content, the member "value"
// included.
const noteFrame = len(`{"value":,"":}`) + len(Member)

// maxListed is how many cuts a preview describes.
const maxListed = 3

// Of returns a preview of a result, a valid JSON object: at most limit characters of text and of
// structured content, if that is possible. output is the schema of the structured content, or nil.
// largest is what was cut most, for which the preview says how to read on. The error is
// ErrSchema, ErrNothing, or that of an invalid schema.
func Of(result []byte, limit int, output json.RawMessage, from Source) (preview []byte,
	largest Cut, err error) {
	content := jsonscan.Member(result, "content")
	structured := jsonscan.Member(result, "structuredContent")
	if string(structured) == "null" {
		structured = nil
	}
	var compiled *schema.Schema
	if output != nil && structured != nil {
		if compiled, err = schema.Compile(output); err != nil {
			return nil, Cut{}, err
		}
	}
	wrapped := structured != nil && structured[0] != '{'
	if wrapped && compiled != nil {
		return nil, Cut{}, ErrSchema
	}
	n := note{Characters: Size(result), Limit: limit, source: from}
	copied := structured != nil && repeats(content, structured)
	for reserve := 0; ; {
		var s shortener
		if structured == nil || !copied {
			size := 0
			for block := range jsonscan.Elements(content) {
				size += textSize(block)
			}
			preview = s.blocks(content, size, limit-reserve)
		}
		shorter := structured
		if structured != nil {
			shorter = s.value(structured, limit-reserve, "/structuredContent", 0)
		}
		largest = n.set(s.cuts)
		text, member := n.text(), n.json()
		if len(s.cuts) == 0 {
			return nil, Cut{}, ErrNothing
		}
		if needed := chars([]byte(text)) + chars(member) + noteFrame; reserve < needed {
			reserve = needed
			continue
		}
		if wrapped {
			shorter = jsonscan.AppendMember([]byte{'{'}, []byte(`"value"`), shorter)
			shorter = append(shorter, '}')
		}
		if structured != nil {
			shorter = jsonscan.SetMember(shorter, Member, member)
		}
		if compiled != nil && compiled.Validate(shorter) != nil {
			return nil, Cut{}, ErrSchema
		}
		if copied {
			preview = textBlocks(string(shorter))
		}
		preview = n.append(preview, text, len(result))
		return replace(result, preview, shorter), largest, nil
	}
}

// replace returns a result with this content and, unless it is nil, structured content.
func replace(result, content, structured []byte) []byte {
	short := make([]byte, 1, len(content)+len(structured)+512)
	short[0] = '{'
	hasContent := false
	for key, value := range jsonscan.Members(result) {
		switch {
		case jsonscan.KeyIs(key, "content"):
			value, hasContent = content, true
		case jsonscan.KeyIs(key, "structuredContent") && structured != nil:
			value = structured
		}
		short = jsonscan.AppendMember(short, key, value)
	}
	if !hasContent {
		short = jsonscan.AppendMember(short, []byte(`"content"`), content)
	}
	return append(short, '}')
}

// textBlocks returns content of these texts.
func textBlocks(texts ...string) []byte {
	content := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, `{"type":"text","text":`...)
		content = append(jsonscan.AppendString(content, text), '}')
	}
	return append(content, ']')
}

// Result returns the result of a tool with these texts.
func Result(texts ...string) json.RawMessage {
	return slices.Concat([]byte(`{"content":`), textBlocks(texts...),
		[]byte{'}'})
}

// A note says in both forms what a preview leaves out.
type note struct {
	Characters int    `json:"characters"` // of the whole result
	Limit      int    `json:"limit"`
	Cuts       []Cut  `json:"cuts"` // the largest first
	OtherCuts  int    `json:"otherCuts,omitempty"`
	Kept       bool   `json:"kept"`
	Until      string `json:"until,omitempty"` // RFC 3339
	ReadOn     *call  `json:"readOn,omitempty"`

	source Source
}

// A call is the call that reads on.
type call struct {
	Tool      string        `json:"tool"`
	Arguments readArguments `json:"arguments"`
}

type readArguments struct {
	ID      string `json:"id"`
	Pointer string `json:"pointer"`
	Offset  int    `json:"offset"`
}

// set sets what is left out, and returns the largest cut.
func (n *note) set(cuts []Cut) (largest Cut) {
	slices.SortStableFunc(cuts, func(a, b Cut) int { return cmp.Compare(b.omitted, a.omitted) })
	if len(cuts) > 0 {
		largest = cuts[0]
	}
	n.Cuts = cuts[:min(len(cuts), maxListed)]
	n.OtherCuts = len(cuts) - len(n.Cuts)
	if n.source.ID != "" {
		n.Kept, n.Until = true, n.source.Until.UTC().Format(time.RFC3339)
		n.ReadOn = &call{n.source.Tool, readArguments{n.source.ID, largest.Pointer, largest.Shown}}
	}
	return largest
}

func (n *note) json() []byte {
	text, _ := mcp.Marshal(n) // texts and numbers
	return text
}

// text returns the note for a reader of the content.
func (n *note) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Shortened: the result has %d characters, and %d are allowed.",
		n.Characters, n.Limit)
	for _, c := range n.Cuts {
		fmt.Fprintf(&b, " Shown are the first %d of %d %s of %s.", c.Shown, c.Total, c.Unit,
			c.Pointer)
	}
	if n.OtherCuts > 0 {
		fmt.Fprintf(&b, " %d more parts are shortened.", n.OtherCuts)
	}
	if n.ReadOn == nil {
		b.WriteString(" The rest is not kept: to see it, ask for less at a time.]")
		return b.String()
	}
	arguments, _ := mcp.Marshal(n.ReadOn.Arguments) // texts and a number
	fmt.Fprintf(&b, " The whole is kept until %s. To read on, call %s with %s.]", n.Until,
		n.ReadOn.Tool, arguments)
	return b.String()
}

// append appends the note and a link to the whole result of size bytes to content.
func (n *note) append(content []byte, text string, size int) []byte {
	more := textBlocks(text)
	if n.source.ID != "" && n.source.URI != "" {
		link, _ := mcp.Marshal(&mcp.ResourceLink{Resource: mcp.Resource{URI: n.source.URI,
			Name: "result", Title: "The whole result", MIMEType: "application/json",
			Size: new(int64(size))}}) // texts and a number
		more = append(append(more[:len(more)-1], ','), append(link, ']')...)
	}
	if len(content) <= len("[]") {
		return more
	}
	return append(append(content[:len(content)-1:len(content)-1], ','), more[1:]...)
}

// WithMember returns the outputSchema of a tool with the member that describes a preview, so that
// previews match a schema that allows no other members.
func WithMember(output json.RawMessage) json.RawMessage {
	properties := jsonscan.Member(output, "properties")
	switch {
	case properties == nil:
		properties = []byte("{}")
	case properties[0] != '{' || jsonscan.Member(properties, Member) != nil:
		return output
	}
	return jsonscan.SetMember(output, "properties", jsonscan.SetMember(properties, Member, []byte(
		`{"type":"object","description":"Present if the result is shortened: what is left out, and how to read on."}`)))
}
