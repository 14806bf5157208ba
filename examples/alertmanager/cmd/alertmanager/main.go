// Command alertmanager is an MCP gateway in front of Alertmanager.
package main

import (
	"github.com/postern-mcp/postern/gateway/command"

	"github.com/postern-mcp/postern/examples/alertmanager/gateway/catalog"
)

func main() { command.Main(&catalog.Gateway) }
