import type { Message } from '@parley/contract'

export const contentsOf = (messages: readonly Message[] | undefined) => messages?.map(({ content }) => content)
