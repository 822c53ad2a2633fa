package toml

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// value reads a value inside of depth tables and arrays.
func (p *parser) value(depth int) (value, error) {
	v := value{start: p.i}
	err := p.count()
	if err == nil && depth > MaxDepth {
		err = p.errorf(p.i, "nested too deeply")
	}
	if err != nil {
		return v, err
	}
	switch p.next() {
	case '[':
		v.array, err = p.array(depth + 1)
	case '{':
		v.table, err = p.inlineTable(depth + 1)
	case '"', '\'':
		var text string
		text, err = p.text()
		v.json = jsonscan.AppendString(nil, text)
	default:
		v.json, err = p.literal()
	}
	return v, err
}

func (p *parser) array(depth int) (*array, error) {
	all := &array{}
	for p.i++; ; {
		if err := p.blank(); err != nil {
			return nil, err
		}
		if p.next() == ']' {
			p.i++
			return all, nil
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		all.elements = append(all.elements, v)
		if err := p.blank(); err != nil {
			return nil, err
		}
		switch p.next() {
		case ',':
			p.i++
		case ']':
		default:
			return nil, p.errorf(p.i, "an array wants ',' or ']' before %s", p.found())
		}
	}
}

func (p *parser) inlineTable(depth int) (*table, error) {
	t := &table{kind: inline}
	section := p.section
	defer func() { p.section = section }()
	p.section = -1 - p.i // the dotted tables within it are its own
	p.i++
	p.space()
	if p.next() == '}' {
		p.i++
		return t, nil
	}
	for {
		if _, err := p.assign(t, depth-1); err != nil {
			return nil, err
		}
		p.space()
		switch p.next() {
		case ',':
			p.i++
			p.space()
		case '}':
			p.i++
			return t, nil
		default:
			return nil, p.errorf(p.i, "an inline table wants ',' or '}' on the same line, before %s",
				p.found())
		}
	}
}
