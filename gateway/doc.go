// Package gateway turns a tool call into one request of a generated REST client
// and its answer, or its failure, into a result.
//
//	caller, tool name, raw arguments
//	   │ validate against the published schema        invalid_arguments
//	   │ fill in what has a default                   project_required
//	   │ place arguments in path, query, body
//	   ▼
//	generated client ──▶ transport ──▶ API            network_error, timeout, …
//	   │ redact, mask, compact                        http_4xx, invalid_response, …
//	   ▼
//	one content block, or the error envelope
//
// Every way into a gateway goes through [Gateway.Call]: stdio, HTTP and the
// command line differ in how they find the caller and write the result, and in
// nothing else. The package knows neither MCP nor how HTTP is served.
//
// Arguments and answers stay raw JSON from end to end, so numbers keep their
// spelling, objects their order, and nothing is lost that the gateway does not know.
package gateway
