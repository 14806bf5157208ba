// Package api holds what oapi-codegen derives from openapi/control-plane.yaml:
// the models and the strict server interface of the reference control plane.
//
// The overlay changes how the document is rendered, never what it says: JSON of
// any shape is kept as raw bytes, so that 9007199254740993, 1.0 and 1e400 leave
// as they came, and request bodies and lenient parameters reach the handlers
// unread, so that nothing of a request is judged before its sender is
// authorized.
package api

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config cfg.yaml ../../../../openapi/control-plane.yaml
