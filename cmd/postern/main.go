// Command postern is an MCP gateway in front of the Viat control plane.
package main

import (
	"github.com/postern-mcp/postern/gateway/catalog"
	"github.com/postern-mcp/postern/gateway/command"
)

func main() { command.Main(&catalog.Gateway) }
