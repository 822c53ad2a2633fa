package elicit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// askForm asks field by field and shows all answers before they are sent (2026-07-28, Elicitation,
// "Form Mode Elicitation Requests"). The content that it returns fits the schema.
func (a *Asker) askForm(ctx context.Context, params mcp.ElicitParams) ([]byte, error) {
	a.printRequest("asks", params.Message)
	fields := FormFields(params.RequestedSchema)
	for _, f := range fields {
		if f.secret() {
			a.console.Printf(
				"The form asks for %q, which looks like a secret. Servers must not ask for secrets in a form, so it is declined.",
				f.title)
			return nil, errDeclined
		}
	}
	if len(fields) == 0 {
		if err := checkForm(params.RequestedSchema, []byte("{}")); err != nil {
			a.console.Printf("The form requires an answer but has no fields: %s.",
				printable.Line(err.Error()))
			return nil, errDeclined
		}
		answer, err := a.askChoice(ctx, "Do you agree? [y/n]", 0, "yes", "no")
		if err == nil && answer == 'n' {
			err = errDeclined
		}
		return []byte("{}"), err
	}
	help := fmt.Sprintf("An empty line accepts the value in [brackets] or omits an optional field; "+
		"%s omits it in any case. %s is an empty string.", skipWord, emptyWord)
	a.console.Printf("%s", a.console.Columns().WrapLine(help, 0))
	a.console.Printf("%s declines the form; %s or Ctrl-D cancels it.",
		declineWord, cancelWord)
	for {
		content := new(arguments.Tree)
		for _, f := range fields {
			value, err := a.askField(ctx, f)
			if err != nil {
				return nil, err
			}
			if f.defaultValue = value; value != nil { // the default if the field is asked again
				content.Put(f.name, &arguments.Node{JSON: value})
			}
		}
		filled := content.Append(nil)
		if err := checkForm(params.RequestedSchema, filled); err != nil {
			a.console.Printf("The answers do not fit together: %s", printable.Line(err.Error()))
			continue
		}
		a.printAnswers(fields)
		answer, err := a.askChoice(ctx, "Send this to "+printable.Line(a.server)+
			"? [y]es, [n]o, [e]dit:", 0, "yes", "no", "edit")
		switch {
		case err != nil:
			return nil, err
		case answer == 'y':
			return filled, nil
		case answer == 'n':
			return nil, errDeclined
		}
	}
}

// FormFields returns the properties of a form in its order.
func FormFields(text []byte) (fields []*field) {
	for _, property := range form.NewSchema(text).Limited().Own().Fields() {
		fields = append(fields, newField(property))
	}
	return fields
}

// askField asks for the value of a field until it fits. It returns nil if the field is left out.
func (a *Asker) askField(ctx context.Context, f *field) ([]byte, error) {
	a.console.Printf("\n%s", f.heading())
	for _, line := range f.options() {
		a.console.Printf("%s", line)
	}
	for {
		text, err := a.ask(ctx, f.prompt())
		if err != nil {
			return nil, err
		}
		value := f.defaultValue
		switch strings.TrimSpace(text) {
		case "":
		case skipWord:
			value = f.keyword("default") // which the client would fill in anyway
		default:
			if value, err = f.parse(text); err == nil {
				return value, nil
			}
		}
		switch {
		case err != nil:
		case value == nil && f.required:
			err = errors.New("the field is required")
		case value == nil || f.check == nil:
			return value, nil
		default:
			if err = f.check.Validate(value); err == nil {
				return value, nil
			}
		}
		a.console.Printf("Please answer again: %s.", printable.Line(err.Error()))
	}
}

// printAnswers prints the answers before they are sent.
func (a *Asker) printAnswers(fields []*field) {
	const maxRunes = 4000 // of one value: as much as a user types at once
	a.console.Printf("\nThe answer:")
	for _, f := range fields {
		if f.defaultValue == nil {
			a.console.Printf("  %s: left out", f.title)
			continue
		}
		a.console.Printf("  %s: %s", f.title,
			printable.TruncateRunes(f.format(f.defaultValue), maxRunes))
	}
}

// checkForm validates the content of a form against its whole schema.
func checkForm(text, content []byte) error {
	compiled, err := schema.Options{AssertFormats: true}.Compile(text)
	if err != nil {
		return nil // the client has refused a form that does not compile
	}
	filled, err := compiled.FillDefaults(content)
	if err == nil {
		err = compiled.Validate(filled)
	}
	return err
}
