package schema

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A document is one JSON text with the schema resources in it.
type document struct {
	index
	resources map[uint32]*resource // by the node at which they start

	// While it is compiled:
	asked      []*subschema                 // results of compiler.subschema, by their node
	byName     map[uint32]map[string]uint32 // members of objects on the paths of references
	byPosition map[uint32][]uint32          // items of arrays on these paths
}

// A resource is a schema with a base URI: a document's root, or a subschema with an $id (Core,
// section 4.3.5).
type resource struct {
	uri     string // absolute, without fragment; "" if the document has none
	doc     *document
	root    uint32
	dialect *dialect
	anchors map[string]uint32
	dynamic map[string]uint32 // those of $dynamicAnchor, which are also in anchors

	dynamicSchemas map[string]*subschema // the same, compiled, if a $dynamicRef may refer to them
}

// path returns the location of a node for messages: the resource's URI and a JSON Pointer.
func (r *resource) path(n uint32) string { return r.uri + "#" + r.doc.pointer(r.root, n) }

func (r *resource) errorAt(n uint32, err error) error {
	if located := (*SchemaError)(nil); errors.As(err, &located) {
		return err
	}
	return &SchemaError{r.path(n), err}
}

// document loads and indexes the document with that URI.
func (c *compiler) document(uri string) (*document, error) {
	data := metaschema(uri)
	if data == nil {
		if c.load == nil {
			return nil, fmt.Errorf(
				"%w: the document %q is not available: no Loader returns it",
				ErrReference, uri)
		}
		var err error
		if data, err = c.load(uri); err != nil {
			return nil, fmt.Errorf("%w: the document %q: %w", ErrReference, uri, err)
		}
	}
	doc, err := c.parse(data)
	if err != nil {
		return nil, fmt.Errorf("the document %q: %w", uri, err)
	}
	return doc, nil
}

func (c *compiler) parse(data []byte) (*document, error) {
	if c.bytes += len(data); c.bytes > maxSchemaBytes {
		return nil, fmt.Errorf("%w: more than %d bytes of schema", ErrLimit, maxSchemaBytes)
	}
	if err := jsonscan.Valid(data); err != nil {
		return nil, err
	}
	doc := &document{}
	doc.nodes = make([]node, 0, nodesIn(data))
	err := doc.build(data)
	doc.asked = make([]*subschema, len(doc.nodes))
	return doc, err
}

// add registers a document under the URI by which it was loaded, and all resources and anchors in
// it.
func (c *compiler) add(doc *document, uri string) (*resource, error) {
	root := &resource{uri: uri, doc: doc}
	d, err := c.dialectOf(&doc.index, 0, nil)
	if err != nil {
		return nil, root.errorAt(0, err)
	}
	root.dialect = d
	if uri == "" {
		c.root = root
	} else {
		c.register(uri, root)
	}
	if bytes.IndexByte(doc.data, '$') < 0 && bytes.IndexByte(doc.data, '\\') < 0 {
		return root, nil // nothing can be named $id or $anchor
	}
	return root, c.identify(root, 0)
}

// resource returns the resource with that URI, or nil if it is not known.
func (c *compiler) resource(uri string) *resource {
	if uri == "" {
		return c.root
	}
	return c.resources[uri]
}

func (c *compiler) register(uri string, res *resource) {
	if c.resources == nil {
		c.resources = map[string]*resource{}
	}
	c.resources[uri] = res
}

// identify walks the subschemas at and below a node and registers the resources and anchors that
// they declare. It visits only values that are subschemas in the dialect: an $id in an enum is not
// an $id.
func (c *compiler) identify(res *resource, n uint32) error {
	x := &res.doc.index
	if x.kind(n) != object {
		return nil
	}
	if res.dialect.draft == in07 && x.member(n, "$ref") != 0 {
		// The keywords beside a $ref are ignored, but references to them are valid.
	} else if id := x.member(n, "$id"); id != 0 {
		var err error
		if res, err = c.identifyID(res, n, id); err != nil {
			return res.errorAt(id, err)
		}
	}
	if res.dialect.draft != in07 {
		for _, name := range []string{"$anchor", "$dynamicAnchor"} {
			at := x.member(n, name)
			if at == 0 {
				continue
			}
			if x.kind(at) != str {
				return res.errorAt(at, fmt.Errorf("must be a string, is %s", x.typeName(at)))
			}
			anchor := string(x.text(at))
			if err := res.addAnchor(anchor, n); err != nil {
				return res.errorAt(at, err)
			}
			if name == "$dynamicAnchor" {
				if res.dynamic == nil {
					res.dynamic = map[string]uint32{}
				}
				res.dynamic[anchor] = n
			}
		}
	}
	for name, value := range x.members(n) {
		k := res.dialect.keywords[string(x.text(name))]
		if k == nil || k.shape == noSchema {
			continue
		}
		if err := c.identifyWithin(res, k.shape, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) identifyWithin(res *resource, s shape, value uint32) error {
	x := &res.doc.index
	switch {
	case s == mapOfSchemas && x.kind(value) == object:
		for _, member := range x.members(value) {
			if err := c.identify(res, member); err != nil {
				return err
			}
		}
	case (s == listOfSchemas || s == oneOrList) && x.kind(value) == array:
		for item := range x.items(value) {
			if err := c.identify(res, item); err != nil {
				return err
			}
		}
	case s == oneSchema || s == oneOrList:
		return c.identify(res, value)
	}
	return nil
}

// identifyID applies an $id, and returns the resource to which the subschema then belongs.
func (c *compiler) identifyID(res *resource, n, at uint32) (*resource, error) {
	x := &res.doc.index
	if x.kind(at) != str {
		return res, fmt.Errorf("must be a string, is %s", x.typeName(at))
	}
	id, fragment, _ := strings.Cut(string(x.text(at)), "#")
	if fragment != "" && res.dialect.draft != in07 {
		return res, fmt.Errorf("must not have a fragment; use $anchor")
	}
	if id != "" {
		uri, err := resolve(res.uri, id)
		if err != nil {
			return res, err
		}
		inner := res
		if n != res.root {
			inner = &resource{doc: res.doc, root: n}
			if inner.dialect, err = c.dialectOf(x, n, res.dialect); err != nil {
				return res, err
			}
			if res.doc.resources == nil {
				res.doc.resources = map[uint32]*resource{}
			}
			res.doc.resources[n] = inner
		}
		if known := c.resource(uri); known != nil && known != inner {
			return res, fmt.Errorf("%q is the identifier of another schema already", uri)
		}
		inner.uri = uri
		c.register(uri, inner)
		res = inner
	}
	if fragment != "" {
		return res, res.addAnchor(fragment, n)
	}
	return res, nil
}

func (r *resource) addAnchor(anchor string, n uint32) error {
	if known, ok := r.anchors[anchor]; ok && known != n {
		return fmt.Errorf("the anchor %q is declared twice", anchor)
	}
	if r.anchors == nil {
		r.anchors = map[string]uint32{}
	}
	r.anchors[anchor] = n
	return nil
}

// resolve resolves a URI reference without fragment (RFC 3986, section 5). The length of URIs is
// limited, because many may have the same long base.
func resolve(base, reference string) (string, error) {
	if len(base)+len(reference) > maxURI {
		return "", fmt.Errorf("%w: a URI of more than %d bytes", ErrLimit, maxURI)
	}
	to, err := url.Parse(reference)
	if err != nil {
		return "", err
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	uri := from.ResolveReference(to).String()
	if !from.IsAbs() && from.Host == "" && !strings.HasPrefix(base, "/") &&
		!strings.HasPrefix(reference, "/") {
		uri = strings.TrimPrefix(uri, "/") // which net/url adds to a relative result
	}
	return uri, nil
}

// find returns the target of a reference, and its anchor if the reference has one.
func (c *compiler) find(from *resource, reference string) (res *resource, n uint32, anchor string,
	err error) {
	uri, fragment, _ := strings.Cut(reference, "#")
	res = from
	if uri != "" {
		if uri, err = resolve(from.uri, uri); err != nil {
			return nil, 0, "", fmt.Errorf("%w: %w", ErrReference, err)
		}
		if res = c.resource(uri); res == nil {
			doc, err := c.document(uri)
			if err != nil {
				return nil, 0, "", err
			}
			if res, err = c.add(doc, uri); err != nil {
				return nil, 0, "", err
			}
		}
	}
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return nil, 0, "", fmt.Errorf("%w: %w", ErrReference, err)
	}
	if fragment != "" && fragment[0] != '/' {
		n, ok := res.anchors[fragment]
		if !ok {
			return nil, 0, "", fmt.Errorf("%w: no anchor %q in %q", ErrReference, fragment, res.uri)
		}
		return res, n, fragment, nil
	}
	way := res.doc.follow(res.root, fragment)
	if way == nil {
		return nil, 0, "", fmt.Errorf("%w: nothing at %q", ErrReference, reference)
	}
	for _, n = range way {
		if inner := res.doc.resources[n]; inner != nil {
			res = inner
		}
	}
	return res, n, "", nil
}
