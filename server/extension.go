package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/extensionid"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// An Extension is an optional addition to MCP (SEP-2133). The server declares it to clients of both
// eras. The addition exists only for clients with which the extension was negotiated: clients that
// declare it too, in initialize or with each modern request. For other clients its methods are
// unknown, its items do not exist, and definitions lack its _meta.
//
// Items belong to an extension by their field Extension: see [RawTool], [Resource] and
// [ResourceTemplate].
type Extension struct {
	// ID identifies the extension, as in com.example/maps: labels separated by dots, a slash and a
	// name (2026-07-28, Versioning, "Extension Negotiation").
	ID string
	// Settings encode as the JSON object that the server declares; nil: an empty object.
	Settings any
	// ServerOnly means that clients need not declare the extension: the declaration of the server
	// is enough.
	ServerOnly bool
	// Accepts reports whether the settings that a client declares, a JSON object, are sufficient;
	// nil accepts any. It is called for requests, so it must be fast, and safe for concurrent use.
	// The settings are valid until it returns.
	Accepts func(settings json.RawMessage) bool
	// Methods are the handlers of the extension's requests, by method. The params are valid until
	// the handler returns. The result must encode as a JSON object; in the modern era the server
	// adds resultType and its name, unless the result has them. The handler may use everything that
	// a handler of a [Resource] may use, and its errors follow the rules of [Resource].Read. It
	// must be safe for concurrent use.
	Methods map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	// Notifications are the handlers of notifications from clients, by method. The next message of
	// the client waits for the handler, so it must not block. A panic is logged.
	Notifications map[string]func(ctx context.Context, params json.RawMessage)
	// Meta are keys of _meta in the definitions of lists. The server removes them for clients with
	// which the extension was not negotiated.
	Meta []string
}

// An extension is an [Extension] of a server, or one of the built-in extensions.
type extension struct {
	Extension
	settings json.RawMessage
	// offered reports whether the server declares it; nil: always
	offered func(*era.Era, declaredKinds) bool
}

// extensions holds the extensions of a server. It is never modified.
type extensions struct {
	byID          map[string]*extension
	methods       map[string]*extension // of those in Options.Extensions
	notifications map[string]*extension
	withMeta      []*extension
}

// declaredKinds says which kinds of items a server has or has had. A declared capability stays
// declared.
type declaredKinds struct {
	tools, resources, prompts, completions, tasks, apps, skills bool
}

// add adds an extension. It returns an error if the extension is invalid.
func (all *extensions) add(x *extension) (err error) {
	if x.settings, err = extensionid.Settings(x.ID, x.Settings); err != nil {
		return err
	}
	x.settings = bytes.Clone(x.settings)
	if all.byID[x.ID] != nil {
		return fmt.Errorf("the extension %s is declared twice", x.ID)
	}
	for name, handler := range x.Methods {
		if name == "" || handler == nil || extensionid.IsMethod(name) {
			return fmt.Errorf(
				"the extension %s: the method %q is empty or taken, or its handler is nil", x.ID,
				name)
		}
		if all.methods[name] != nil {
			return fmt.Errorf("the extension %s: the method %q is taken", x.ID, name)
		}
		all.methods[name] = x
	}
	for name, handler := range x.Notifications {
		if name == "" || handler == nil || all.notifications[name] != nil ||
			extensionid.IsMethod(name) {
			return fmt.Errorf(
				"the extension %s: the notification %q is empty or taken, or its handler is nil",
				x.ID, name)
		}
		all.notifications[name] = x
	}
	for _, key := range x.Meta {
		if err := extensionid.CheckMetaKey(key); err != nil {
			return fmt.Errorf("the extension %s: %w", x.ID, err)
		}
	}
	if len(x.Meta) > 0 {
		all.withMeta = append(all.withMeta, x)
	}
	all.byID[x.ID] = x
	return nil
}

func newExtensions(declared []Extension) (*extensions, error) {
	all := &extensions{byID: map[string]*extension{}, methods: map[string]*extension{},
		notifications: map[string]*extension{}}
	var err error
	for _, x := range builtInExtensions() {
		err = errors.Join(err, all.add(x))
	}
	for _, e := range declared {
		// the application may modify its maps later
		e.Methods, e.Notifications, e.Meta = maps.Clone(e.Methods), maps.Clone(e.Notifications),
			slices.Clone(e.Meta)
		err = errors.Join(err, all.add(&extension{Extension: e}))
	}
	return all, err
}

// builtInExtensions returns the extensions of every server, which it offers once it has items of
// that kind. Their methods are those of extensionMethods.
func builtInExtensions() []*extension {
	return []*extension{{
		Extension: Extension{ID: mcp.ExtensionTasks},
		offered:   func(e *era.Era, has declaredKinds) bool { return e.Modern && has.tasks },
	}, {
		Extension: Extension{
			ID: mcp.ExtensionApps, Accepts: appdef.Accepted,
			// the server limits requests for an app to what the app may use
			Settings: map[string]struct{}{mcp.MetaApp: {}},
			Meta:     []string{mcp.MetaUI, mcp.MetaUIResourceURI},
		},
		offered: func(_ *era.Era, has declaredKinds) bool { return has.apps },
	}, {
		Extension: Extension{ID: mcp.ExtensionSkills,
			Settings: mcp.SkillsSettings{DirectoryRead: true}, ServerOnly: true},
		offered: func(_ *era.Era, has declaredKinds) bool { return has.skills },
	}}
}

// isOffered reports whether the server declares the extension in an era. The capabilities of a
// replicated client are unknown after initialize, so no extension can be negotiated with it.
func (x *extension) isOffered(e *era.Era, has declaredKinds) bool {
	return (x.ServerOnly || !e.Replicated) && (x.offered == nil || x.offered(e, has))
}

// declared returns the extensions of the server's capabilities, or nil.
func (all *extensions) declared(e *era.Era, has declaredKinds) map[string]json.RawMessage {
	var declared map[string]json.RawMessage
	for id, x := range all.byID {
		if x.isOffered(e, has) {
			if declared == nil {
				declared = map[string]json.RawMessage{}
			}
			declared[id] = x.settings
		}
	}
	return declared
}
