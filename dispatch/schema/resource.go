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
	resources map[uint32]*resource // those below the root, by the node of their root

	// for the compiler:
	subschemas []*subschema                 // results of compiler.subschema, by node
	byName     map[uint32]map[string]uint32 // members of objects on the paths of references
	byPosition map[uint32][]uint32          // items of arrays on these paths
}

// A resource is a schema resource (Core, section 4.3.5): the root of a document, or a subschema
// with an $id.
type resource struct {
	uri            string // without fragment; "" if there is none
	doc            *document
	root           uint32
	dialect        *dialect
	anchors        map[string]uint32
	dynamicAnchors map[string]uint32 // of $dynamicAnchor; they are in anchors, too

	dynamicSchemas map[string]*subschema // dynamicAnchors to which a $dynamicRef refers, compiled
}

// path returns the location of a node for errors: the resource's URI and a JSON Pointer.
func (r *resource) path(n uint32) string { return r.uri + "#" + r.doc.pointer(r.root, n) }

func (r *resource) errorAt(n uint32, err error) error {
	if located := (*schemaError)(nil); errors.As(err, &located) {
		return err
	}
	return &schemaError{r.path(n), err}
}

// document loads and indexes the document with that URI, or a built-in meta-schema.
func (c *compiler) document(uri string) (*document, error) {
	data := metaschema(uri)
	if data == nil {
		if c.Load == nil {
			return nil, fmt.Errorf(
				"%w: the document %q is not available: Options.Load has to return it",
				ErrReference, uri)
		}
		var err error
		if data, err = c.Load(uri); err != nil {
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
	doc.nodes = make([]node, 0, estimateNodes(data))
	err := doc.build(data)
	doc.subschemas = make([]*subschema, len(doc.nodes))
	return doc, err
}

// addDocument registers a document under the URI by which it was loaded, and all resources and
// anchors in it. uri is "" for the schema that is compiled.
func (c *compiler) addDocument(doc *document, uri string) (*resource, error) {
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
		return root, nil // it cannot have an $id or $anchor
	}
	return root, c.registerIdentifiers(root, 0)
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

// registerIdentifiers registers the $id, $anchor and $dynamicAnchor of the schema at a node and of
// all its subschemas. It visits only values that are subschemas in the dialect: $id in an enum is
// not a keyword.
func (c *compiler) registerIdentifiers(res *resource, n uint32) error {
	doc := &res.doc.index
	if doc.kind(n) != object {
		return nil
	}
	if res.dialect.draft == in07 && doc.member(n, "$ref") != 0 {
		// Draft-07 ignores the keywords beside $ref, but references may lead to subschemas in them.
	} else if id := doc.member(n, "$id"); id != 0 {
		var err error
		if res, err = c.registerID(res, n, id); err != nil {
			return res.errorAt(id, err)
		}
	}
	if res.dialect.draft != in07 {
		for _, name := range []string{"$anchor", "$dynamicAnchor"} {
			at := doc.member(n, name)
			if at == 0 {
				continue
			}
			if doc.kind(at) != str {
				return res.errorAt(at, fmt.Errorf("must be a string, is %s", doc.typeName(at)))
			}
			anchor := string(doc.text(at))
			if err := res.addAnchor(anchor, n); err != nil {
				return res.errorAt(at, err)
			}
			if name == "$dynamicAnchor" {
				if res.dynamicAnchors == nil {
					res.dynamicAnchors = map[string]uint32{}
				}
				res.dynamicAnchors[anchor] = n
			}
		}
	}
	for name, value := range doc.members(n) {
		k := res.dialect.keywords[string(doc.text(name))]
		if k == nil || k.shape == noSchema {
			continue
		}
		if err := c.registerIdentifiersIn(res, k.shape, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) registerIdentifiersIn(res *resource, s shape, value uint32) error {
	doc := &res.doc.index
	switch {
	case s == mapOfSchemas && doc.kind(value) == object:
		for _, member := range doc.members(value) {
			if err := c.registerIdentifiers(res, member); err != nil {
				return err
			}
		}
	case (s == listOfSchemas || s == oneOrList) && doc.kind(value) == array:
		for item := range doc.items(value) {
			if err := c.registerIdentifiers(res, item); err != nil {
				return err
			}
		}
	case s == oneSchema || s == oneOrList:
		return c.registerIdentifiers(res, value)
	}
	return nil
}

// registerID registers the $id at a node, and returns the resource to which the subschema belongs.
func (c *compiler) registerID(res *resource, n, at uint32) (*resource, error) {
	doc := &res.doc.index
	if doc.kind(at) != str {
		return res, fmt.Errorf("must be a string, is %s", doc.typeName(at))
	}
	id, fragment, _ := strings.Cut(string(doc.text(at)), "#")
	if fragment != "" && res.dialect.draft != in07 {
		return res, errors.New("must not have a fragment; use $anchor")
	}
	if id != "" {
		uri, err := resolve(res.uri, id)
		if err != nil {
			return res, err
		}
		inner := res
		if n != res.root {
			inner = &resource{doc: res.doc, root: n}
			if inner.dialect, err = c.dialectOf(doc, n, res.dialect); err != nil {
				return res, err
			}
			if res.doc.resources == nil {
				res.doc.resources = map[uint32]*resource{}
			}
			res.doc.resources[n] = inner
		}
		if known := c.resource(uri); known != nil && known != inner {
			return res, fmt.Errorf("%q is already the $id of another schema", uri)
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

// resolve resolves a URI reference without fragment (RFC 3986, section 5). It limits the length,
// because many references may have the same long base.
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

// resolveReference returns the target of a reference, and the anchor that is its fragment, or "".
func (c *compiler) resolveReference(from *resource, reference string) (res *resource, n uint32,
	anchor string, err error) {
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
			if res, err = c.addDocument(doc, uri); err != nil {
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
	path := res.doc.follow(res.root, fragment)
	if path == nil {
		return nil, 0, "", fmt.Errorf("%w: nothing at %q", ErrReference, reference)
	}
	for _, n = range path {
		if inner := res.doc.resources[n]; inner != nil {
			res = inner
		}
	}
	return res, n, "", nil
}
