// Command powerdns is an MCP gateway in front of PowerDNS.
package main

import (
	"github.com/postern-mcp/postern/gateway/command"

	"github.com/postern-mcp/postern/examples/powerdns/gateway/catalog"
)

func main() { command.Main(&catalog.Gateway) }
