"""Every SDK name in the specification, by class. `X=` means a getter `X` and a setter `SetX`."""

MODULE_FUNCTIONS = "RunCallbacks SetFreeThreaded ResetCallbacks"

CLASSES = {
    "Client": """
        Authorize AbortAuthorize CreateAuthorizationCodeVerifier GetToken RefreshToken RevokeToken ExchangeChildToken UpdateToken
        FetchCurrentUser IsAuthenticated GetProvisionalToken GetTokenFromProvisionalMerge UnmergeIntoProvisionalAccount
        UpdateProvisionalAccountDisplayName ProvisionalUserMergeCompleted GetTokenFromDevice GetTokenFromDeviceProvisionalMerge
        AbortGetTokenFromDevice OpenAuthorizeDeviceScreen CloseAuthorizeDeviceScreen SetAuthorizeDeviceScreenClosedCallback
        SetTokenExpirationCallback RegisterAuthorizeRequestCallback RemoveAuthorizeRequestCallback
        SetApplicationId GetApplicationId Connect Disconnect GetStatus SetStatusChangedCallback StatusToString ErrorToString
        ThreadToString SetHttpRequestTimeout GetVersionMajor GetVersionMinor GetVersionPatch GetVersionHash
        GetDefaultCommunicationScopes GetDefaultPresenceScopes SetThreadPriority SetGameWindowPid
        OpenConnectedGamesSettingsInPlatform IsPlatformAppInstalled Status Error Thread
        GetCurrentUser GetCurrentUserV2 GetUser GetPlatformClientConnectedUser SetUserUpdatedCallback SearchFriendsByUsername
        GetUserApplicationProfiles GetUserApplicationProfilesNoLock
        SendPlatformFriendRequest SendPlatformFriendRequestById SendGameFriendRequest SendGameFriendRequestById
        AcceptPlatformFriendRequest AcceptGameFriendRequest RejectPlatformFriendRequest RejectGameFriendRequest
        CancelPlatformFriendRequest CancelGameFriendRequest RemovePlatformAndGameFriend RemoveGameFriend BlockUser UnblockUser
        GetRelationshipHandle GetRelationships GetRelationshipsByGroup SetRelationshipCreatedCallback
        SetRelationshipDeletedCallback SetRelationshipGroupsUpdatedCallback
        UpdateRichPresence ClearRichPresence SetOnlineStatus SetShowingChat RegisterLaunchCommand RegisterLaunchSteamApplication
        SendActivityInvite SendActivityJoinRequest SendActivityJoinRequestReply AcceptActivityInvite
        SetActivityInviteCreatedCallback SetActivityInviteUpdatedCallback SetActivityJoinCallback
        SetActivityJoinWithApplicationCallback
        SendUserMessage SendUserMessageWithMetadata EditUserMessage DeleteUserMessage SendLobbyMessage
        SendLobbyMessageWithMetadata GetLobbyMessagesWithLimit GetUserMessagesWithLimit GetUserMessageSummaries GetMessageHandle
        GetChannelHandle CanOpenMessageInPlatform OpenMessageInPlatform SetMessageCreatedCallback SetMessageUpdatedCallback
        SetMessageDeletedCallback
        CreateOrJoinLobby CreateOrJoinLobbyWithMetadata LeaveLobby GetLobbyHandle GetLobbyIds GetUserGuilds GetGuildChannels
        LinkChannelToLobby UnlinkChannelFromLobby JoinLinkedLobbyGuild SetLobbyCreatedCallback SetLobbyDeletedCallback
        SetLobbyUpdatedCallback SetLobbyMemberAddedCallback SetLobbyMemberUpdatedCallback SetLobbyMemberRemovedCallback
        StartCall StartCallWithAudioCallbacks GetCall GetCalls EndCall EndCalls GetInputDevices GetOutputDevices
        GetCurrentInputDevice GetCurrentOutputDevice SetInputDevice SetOutputDevice GetDefaultAudioDeviceId
        SetDeviceChangeCallback GetInputVolume SetInputVolume GetOutputVolume SetOutputVolume GetSelfMuteAll SetSelfMuteAll
        GetSelfDeafAll SetSelfDeafAll SetEchoCancellation SetNoiseSuppression SetAutomaticGainControl SetNoiseCancellation
        SetNoAudioInputThreshold SetNoAudioInputCallback SetOpusHardwareCoding SetEngineManagedAudioSession SetSpeakerMode
        ShowAudioRoutePicker SetVoiceParticipantChangedCallback SetAecDump
        AddLogCallback AddVoiceLogCallback SetLogDir SetVoiceLogDir""",
    "Call": """
        GetChannelId GetGuildId GetStatus GetParticipants GetVoiceStateHandle SetSelfMute GetSelfMute SetSelfDeaf GetSelfDeaf
        SetLocalMute GetLocalMute SetParticipantVolume GetParticipantVolume SetAudioMode GetAudioMode SetPTTActive GetPTTActive
        SetPTTReleaseDelay GetPTTReleaseDelay SetVADThreshold GetVADThreshold SetStatusChangedCallback
        SetParticipantChangedCallback SetOnVoiceStateChangedCallback SetSpeakingStatusChangedCallback StatusToString
        ErrorToString Status Error""",
    "ClientResult": "Type= Error= ErrorCode= Status= ResponseBody= Successful Retryable= RetryAfter= ToString",
    "AuthorizationArgs": "ClientId= Scopes= State= Nonce= CodeChallenge= IntegrationType= CustomSchemeParam=",
    "DeviceAuthorizationArgs": "ClientId= Scopes=",
    "AuthorizationCodeChallenge": "Method= Challenge=",
    "AuthorizationCodeVerifier": "Challenge= Verifier=",
    "ClientCreateOptions": """
        WebBase= ApiBase= ExperimentalAudioSystem= ExperimentalAndroidPreventCommsForBluetooth= CpuAffinityMask=""",
    "Activity": """
        Name= Type= StatusDisplayType= State= StateUrl= Details= DetailsUrl= ApplicationId= ParentApplicationId= Assets=
        Timestamps= Party= Secrets= SupportedPlatforms= AddButton GetButtons Equals""",
    "ActivityAssets": "LargeImage= LargeText= LargeUrl= SmallImage= SmallText= SmallUrl= InviteCoverImage=",
    "ActivityTimestamps": "Start= End=",
    "ActivityParty": "Id= CurrentSize= MaxSize= Privacy=",
    "ActivitySecrets": "Join=",
    "ActivityButton": "Label= Url=",
    "ActivityInvite": """
        SenderId= ChannelId= MessageId= Type= ApplicationId= ParentApplicationId= PartyId= SessionId= IsValid=""",
    "GuildMinimal": "Id= Name=",
    "GuildChannel": """
        Id= Name= Type= Position= ParentId= IsLinkable= IsViewableAndWriteableByAllMembers= LinkedLobby=""",
    "LinkedLobby": "ApplicationId= LobbyId=",
    "LinkedChannel": "Id= Name= GuildId=",
    "AdditionalContent": "Type= Title= Count= Equals TypeToString",
    "AudioDevice": "Id= Name= IsDefault= Equals",
    "UserMessageSummary": "UserId LastMessageId",
    "VADThresholdSettings": "VadThreshold Automatic",
    "UserHandle": """
        Id Username GlobalName DisplayName Avatar AvatarUrl IsProvisional Status GameActivity Relationship
        UserApplicationProfiles AvatarTypeToString AvatarType""",
    "UserApplicationProfileHandle": "Username AvatarHash Metadata ProviderId ProviderIssuedUserId ProviderType",
    "RelationshipHandle": "Id PlatformRelationshipType GameRelationshipType IsSpamRequest User",
    "MessageHandle": """
        Id AuthorId ChannelId Author Channel Content RawContent SentTimestamp EditedTimestamp Lobby Recipient RecipientId
        Metadata ModerationMetadata AdditionalContent AdditionalName ApplicationId SentFromGame DisclosureType""",
    "ChannelHandle": "Id Name Type Recipients",
    "LobbyHandle": """
        Id Metadata LobbyMemberIds LobbyMembers GetLobbyMemberHandle LinkedChannel GetCallInfoHandle""",
    "LobbyMemberHandle": "Id User Connected CanLinkLobby Metadata",
    "CallInfoHandle": "ChannelId GuildId GetParticipants GetVoiceStateHandle",
    "VoiceStateHandle": "SelfMute SelfDeaf",
}


def names_of(class_name: str) -> list[str]:
    """Return the names of a class, with setters written out."""
    names: list[str] = []
    for name in CLASSES[class_name].split():
        names += [name[:-1], f"Set{name[:-1]}"] if name.endswith("=") else [name]
    return names
