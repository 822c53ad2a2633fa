package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/params"
	"github.com/stdwire/stdwire/server/internal/results"
)

// AddItem adds an item of another server, or replaces the one with the same key, as the methods of
// [Server] for its kind do. A tool may have any name, because the other server has chosen it.
func (i Integration) AddItem(item Item) error {
	key := item.Kind.KeyOf(item.Definition)
	added, err := item.item(key)
	switch {
	case err != nil:
	case item.Kind == mcp.KindSkill:
		err = i.s.addSkill(added)
	default:
		i.s.add(added)
	}
	return itemError(item.Kind, key, err)
}

// item returns the item as requests use it.
func (from *Item) item(key string) (*item, error) {
	if !results.IsObject(from.Definition) {
		return nil, errors.New("its Definition is not a JSON object")
	}
	definition, err := oneLine(from.Definition)
	if err != nil {
		return nil, err
	}
	switch {
	case from.Use == nil:
		return nil, errors.New("it needs Use")
	case key == "" && (from.Kind == mcp.KindTool || from.Kind == mcp.KindPrompt):
		return nil, errors.New("it needs a name")
	}
	i := newItem(from.Kind, key, definition)
	name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
	switch from.Kind {
	case mcp.KindTool:
		i = toolItem(key, &tool{forwarded: true, listed: from.Listed}, "", definition)
		i.use = from.use(mcp.KindTool, key)
	case mcp.KindPrompt:
		err = from.usePrompt(i)
	case mcp.KindResource:
		i.use, err = from.use(mcp.KindResource, key), checkResource(key, name)
	case mcp.KindResourceTemplate:
		i.template = &template{read: func(uri string, _ map[string]string) useFunc {
			return from.use(mcp.KindResource, uri)
		}}
		i.template.Template, err = checkTemplate(key, name)
	case mcp.KindSkill:
		i.skill = &skillEntry{directory: from.ReadDirectory,
			read: func(uri string) useFunc { return from.use(mcp.KindResource, uri) }}
		if err = mcp.Unmarshal(definition, &i.skill.Skill); err == nil {
			err = skill.Check(&i.skill.Skill)
		}
	default:
		err = errors.New("a server cannot add items of this kind")
	}
	if err != nil {
		return nil, err
	}
	i.server, i.own = from.Server, from.Name
	i.SessionOnly, i.Extension, i.complete = from.NeedsSession, from.Extension, from.Complete
	return i, nil
}

// oneLine returns a valid object without line breaks: a copy only if there are some.
func oneLine(object json.RawMessage) ([]byte, error) {
	if object[0] == '{' && object[len(object)-1] == '}' && jsonscan.Valid(object) == nil &&
		!bytes.ContainsAny(object, "\r\n") {
		return object, nil
	}
	return mcp.Marshal(object)
}

// usePrompt sets what answers prompts/get. It refuses arguments that do not fit the definition, as
// for a [Prompt].
func (from *Item) usePrompt(i *item) error {
	var declared []mcp.PromptArgument
	if raw := jsonscan.Member(i.Definition, "arguments"); raw != nil {
		if err := mcp.Unmarshal(raw, &declared); err != nil {
			return err
		}
	}
	use := from.use(mcp.KindPrompt, i.Key)
	i.use = func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		if _, err := params.Prompt(i.Key, declared, arguments); err != nil {
			return nil, err
		}
		return use(ctx, r, arguments)
	}
	return nil
}

// use returns the function that calls Use with this name, for a request of a kind of item.
func (from *Item) use(kind mcp.Kind, name string) useFunc {
	use := from.Use
	return func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		if kind == mcp.KindTool {
			arguments = orEmptyObject(arguments)
		}
		result, err := use(ctx, name, arguments)
		if err != nil {
			return r.handlerError(err)
		}
		if !results.IsObject(result) || jsonscan.Valid(result) != nil {
			return nil, r.logError(
				fmt.Errorf("the result of the %s %s is not a JSON object", kind, name))
		}
		return r.forwardedResult(kind, result), nil
	}
}

// forwardedResult returns the result of another server in the form of the client's era. For the
// modern era it stores isError, so that middleware need not search the result again.
func (r *request) forwardedResult(kind mcp.Kind, result json.RawMessage) *Result {
	if !r.era.Modern {
		return NewResult(legacy.Result(r.era.Revision, kind, result))
	}
	made := &Result{checked: true}
	made.json, made.isError = results.Forwarded(kind, result)
	return made
}

// NewOwnItems returns items as [Integration.AddItem] would add them; skills are not supported. The
// errors are those of the items that cannot be offered and are left out.
func NewOwnItems(all []Item) (*OwnItems, []error) {
	byKind := map[mcp.Kind]map[string]*item{}
	var errs []error
	for _, from := range all {
		key := from.Kind.KeyOf(from.Definition)
		i, err := from.item(key)
		if err == nil && from.Kind == mcp.KindSkill {
			err = errors.New("a skill cannot belong to some callers only")
		}
		if err != nil {
			errs = append(errs, itemError(from.Kind, key, err))
			continue
		}
		if byKind[from.Kind] == nil {
			byKind[from.Kind] = map[string]*item{}
		}
		byKind[from.Kind][key] = i
	}
	o := &OwnItems{lists: map[mcp.Kind]*listing{}}
	for kind, byKey := range byKind {
		o.lists[kind] = items.NewListing(byKey)
	}
	if templates := o.lists[mcp.KindResourceTemplate]; templates != nil {
		o.templates = newTemplateSet(templates)
	}
	return o, errs
}
