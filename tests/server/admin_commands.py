"""Commands of `hubbub admin` that run in the server of a test."""

from hubbub.server import cli
from hubbub.server.commands import admin_socket
from tests.world import World


async def run_admin_command(world: World, *arguments: str) -> str:
    """Run a command with the parser of the command line and return its output, or raise AdminError."""
    arguments_namespace = cli.build_parser().parse_args(["admin", *arguments])
    values = admin_socket.read_values(arguments_namespace)
    return "\n".join(await admin_socket.perform(world.app, arguments_namespace.admin_action, values))
