"""Tests of the terms and the privacy notice: publication, acceptance at registration and after a new version, and pages."""

from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from tests.pages import PASSWORD, Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import create_user_with_password, delete_account, request_registration
from tests.server.identity.operators import create_operator
from tests.world import Actor, World

TERMS_TEXT = "# Rules\n\nBe *kind* and **fair**. Write to [us](mailto:us@example.org)."


async def publish_document(owner: Actor, kind: str = "terms", content: str = TERMS_TEXT, **fields: Any) -> Any:
    """Publish a version of a document."""
    return (await owner.put(f"/admin/documents/{kind}", json={"content": content, **fields})).ok()


async def test_owners_publish_versions_that_everyone_can_read(world: World) -> None:
    owner = await create_operator(world, "olga")
    assert (await world.request("GET", "/documents")).ok() == []
    (await world.request("GET", "/documents/terms")).rejected(404, 0)
    (await world.request("GET", "/documents/recipes")).rejected(404, 0)

    assert (await publish_document(owner))["version"] == 1
    assert (await publish_document(owner, content="Be kind."))["version"] == 2

    document = (await world.request("GET", "/documents/terms")).ok()
    assert (document["kind"], document["version"], document["content"]) == ("terms", 2, "Be kind.")
    [listed_document] = (await world.request("GET", "/documents")).ok()
    assert (listed_document["kind"], listed_document["version"]) == ("terms", 2)
    [audit_entry, *_] = (await owner.get("/admin/audit-log")).ok()
    assert (audit_entry["action"], audit_entry["target_name"], audit_entry["detail"]) == (
        "document.publish",
        "terms",
        "version 2",
    )


async def test_only_owners_publish_documents(world: World) -> None:
    moderator = await create_operator(world, "adam", OperatorRole.MODERATOR)

    (await moderator.put("/admin/documents/terms", json={"content": TERMS_TEXT})).rejected(403, 0)
    owner = await create_operator(world, "olga")
    (await owner.put("/admin/documents/recipes", json={"content": TERMS_TEXT})).rejected(404, 0)
    assert (await owner.put("/admin/documents/terms", json={"content": ""})).errors("content") == [
        "BASE_TYPE_BAD_LENGTH"
    ]


async def test_a_registration_accepts_the_current_versions(world: World) -> None:
    owner = await create_operator(world, "olga")
    await publish_document(owner)
    await publish_document(owner, "privacy")

    for accepted_versions in ({}, {"terms": 1}, {"terms": 1, "privacy": 2}):
        assert (await request_registration(world, accepted=accepted_versions)).errors("accepted") == [
            "DOCUMENTS_NOT_ACCEPTED"
        ]
    assert (await request_registration(world)).errors("accepted") == ["DOCUMENTS_NOT_ACCEPTED"]
    session = (await request_registration(world, accepted={"terms": 1, "privacy": 1})).ok()

    mary = Actor(world, int(session["user_id"]), session["token"], "mary")
    assert (await mary.get("/users/@me/documents")).ok() == []
    exported_acceptances = (await mary.get("/users/@me/harvest")).ok()["records"]["accepted_documents"]
    assert [(acceptance["kind"], acceptance["version"]) for acceptance in exported_acceptances] == [
        ("privacy", 1),
        ("terms", 1),
    ]


async def test_existing_users_accept_a_new_version_unless_it_is_a_correction(world: World) -> None:
    owner = await create_operator(world, "olga")
    alice = await create_user_with_password(world)
    await publish_document(owner)
    [document] = (await alice.get("/users/@me/documents")).ok()
    assert (document["kind"], document["version"]) == ("terms", 1)

    response = await alice.post("/users/@me/documents", json={"accepted": {"terms": 2}})
    assert response.errors("accepted") == ["DOCUMENT_VERSION_INVALID"]
    (await alice.post("/users/@me/documents", json={"accepted": {"terms": 1}})).ok()
    (await alice.post("/users/@me/documents", json={"accepted": {"terms": 1}})).ok()
    assert (await alice.get("/users/@me/documents")).ok() == []
    await publish_document(owner, content="Corrected", ask_users=False)
    assert (await alice.get("/users/@me/documents")).ok() == []
    await publish_document(owner, content="New")
    assert [document["version"] for document in (await alice.get("/users/@me/documents")).ok()] == [3]
    await delete_account(alice)


async def test_the_command_line_publishes_a_file(world: World, tmp_path: Path) -> None:
    path = tmp_path / "privacy.md"
    path.write_text("We store *nothing*.", encoding="utf-8")

    assert (
        await run_admin_command(world, "publish-document", "privacy", str(path)) == "Published version 1 at /privacy."
    )

    assert "We store nothing." in (await Browser(world).open("/privacy")).text
    with pytest.raises(SystemExit):
        await run_admin_command(world, "publish-document", "privacy", str(tmp_path / "missing.md"))


# Pages


async def test_documents_are_rendered_without_markup_of_their_text(world: World) -> None:
    owner = await create_operator(world, "olga")
    document_text = (
        f"{TERMS_TEXT}\n\n<script>alert(1)</script> <b>x</b>\n\n1. one\n2. two\n\n"
        "[bad](javascript:alert(1)) [worse](<data:text/html,x>) ![image](https://tracker.example/x.png)\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode <i>\n```\n"
    )
    await publish_document(owner, content=document_text)

    page = await Browser(world).open("/terms")

    assert page.status == 200
    for html_fragment in (
        "<h2>Rules</h2>",
        "<em>kind</em>",
        "<strong>fair</strong>",
        "<li>",
        "<table>",
        "code &lt;i&gt;",
    ):
        assert html_fragment in page.body
    assert ("us", "mailto:us@example.org") in page.links
    for html_fragment in ("<script>alert", "<b>x", 'href="javascript', 'href="data', '<img src="https://tracker'):
        assert html_fragment not in page.body
    assert (await Browser(world).open("/privacy")).status == 404


async def test_the_registration_page_asks_to_accept_documents(world: World) -> None:
    await publish_document(await create_operator(world, "olga"))
    browser = Browser(world)

    page = await browser.open("/register")
    assert ("Terms of use", "/terms") in page.links
    error_page = await browser.submit(page, "Create account", username="mary", password=PASSWORD)
    assert 'id="error-accepted"' in error_page.body
    await browser.submit(error_page, "Create account", username="mary", password=PASSWORD, accepted="1")

    assert browser.history[-1].url == "/app"


async def test_a_login_asks_to_accept_a_new_version(world: World) -> None:
    await create_user_with_password(world)
    await publish_document(await create_operator(world, "olga"))
    browser = Browser(world)

    assert ("Terms of use", "/terms") in (await browser.open("/login")).links
    page = await browser.log_in("alice", path="/login?next=/settings/apps")
    assert "Read and accept them to continue." in page.text
    result_page = await browser.submit(page, "Accept", follows_redirects=False)
    assert result_page.location == "/settings/apps"
    second_browser = Browser(world)
    assert (
        "Read and accept them to continue."
        not in (await second_browser.log_in("alice", path="/login?next=/settings/apps")).text
    )


async def test_the_chat_client_asks_to_accept_a_new_version(world: World) -> None:
    alice = await create_user_with_password(world)
    browser = Browser(world)
    browser.sign_in_as(alice)
    assert (await browser.request("GET", "/app")).status == 200
    await publish_document(await create_operator(world, "olga"))

    redirect = await browser.request("GET", "/app/channels/@me/123?q=1")
    assert redirect.location == "/documents/accept?next=/app/channels/%40me/123%3Fq%3D1"
    result_page = await browser.submit(await browser.open(redirect.location), "Accept", follows_redirects=False)
    assert result_page.location == "/app/channels/@me/123?q=1"
    assert (await browser.request("GET", "/app")).status == 200


async def test_owners_edit_documents_in_the_console(world: World) -> None:
    console = Browser(world)
    console.sign_in_as(await create_operator(world, "olga"))

    page = await console.open("/admin/documents/terms")
    result_page = await console.submit(page, "Publish", content="Be kind.")
    assert "Document published." in result_page.text
    assert "Version 1" in result_page.text
    assert "Be kind." in (await console.open("/admin/documents/terms")).body
    assert "Be kind." in (await console.open("/terms")).text
