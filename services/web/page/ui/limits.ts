import type { limits } from '@parley/contract'

/*
 * The limits of the interface that the page uses. It has a copy of the numbers, because the contract comes with all its schemas. Each number
 * has the type of the contract's, so a copy that differs is a type error.
 */

type Limits = typeof limits

export const maxContent: Limits['content'] = 16_000
export const maxAttachments: Limits['attachments'] = 50
export const maxUserName: Limits['userName'] = 64
export const maxDisplayName: Limits['displayName'] = 100
export const maxTitle: Limits['title'] = 100
export const maxStatusText: Limits['statusText'] = 100
export const maxChannelName: Limits['channelName'] = 80
export const maxTopic: Limits['topic'] = 250
export const maxGroupName: Limits['groupName'] = 100
export const maxServerName: Limits['serverName'] = 80
export const maxWebhookName: Limits['webhookName'] = 80
export const maxTokenName: Limits['tokenName'] = 80
export const maxCommandName: Limits['commandName'] = 32
export const maxCommandHint: Limits['commandHint'] = 200
