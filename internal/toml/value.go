package toml

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// value reads a value within depth tables and arrays.
func (p *parser) value(depth int) (value, error) {
	v := value{start: p.i}
	err := p.countValue()
	if err == nil && depth > MaxDepth {
		err = p.errorf(p.i, "nested more than %d deep", MaxDepth)
	}
	if err != nil {
		return v, err
	}
	switch p.peek() {
	case '[':
		v.array, err = p.array(depth + 1)
	case '{':
		v.table, err = p.inlineTable(depth + 1)
	case '"', '\'':
		var text string
		text, err = p.stringValue()
		v.json = jsonscan.AppendString(nil, text)
	default:
		v.json, err = p.literal()
	}
	return v, err
}

func (p *parser) array(depth int) (*array, error) {
	all := &array{}
	for p.i++; ; {
		if err := p.skipBlank(); err != nil {
			return nil, err
		}
		if p.peek() == ']' {
			p.i++
			return all, nil
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		all.elements = append(all.elements, v)
		if err := p.skipBlank(); err != nil {
			return nil, err
		}
		switch p.peek() {
		case ',':
			p.i++
		case ']':
		default:
			return nil, p.errorf(p.i, "',' or ']' is missing before %s", p.describeNext())
		}
	}
}

func (p *parser) inlineTable(depth int) (*table, error) {
	t := &table{kind: inline}
	section := p.section
	defer func() { p.section = section }()
	p.section = -1 - p.i // an inline table has dotted tables of its own
	p.i++
	p.skipSpace()
	if p.peek() == '}' {
		p.i++
		return t, nil
	}
	for {
		if _, err := p.assign(t, depth-1); err != nil {
			return nil, err
		}
		p.skipSpace()
		switch p.peek() {
		case ',':
			p.i++
			p.skipSpace()
		case '}':
			p.i++
			return t, nil
		default:
			return nil, p.errorf(p.i, "',' or '}' of an inline table is missing before %s",
				p.describeNext())
		}
	}
}
