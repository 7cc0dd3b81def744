import { type Client, RequestFailed } from '@parley/client'
import type { WireEvent } from '@parley/contract'
import { propertiesOf } from '../ui/stored-value.ts'
import { createStoredMap } from './stored-map.ts'

/** The message that the draft of a channel or conversation quotes. */
interface Quotation {
  id: string
  /** The name of the author. */
  userName: string
}

/**
 * The quotations of drafts, which are stored like their texts. The server would refuse a message with a quotation of a deleted message, so
 * such a quotation is removed.
 */
export function createQuotations(client: Client, userId: string) {
  const quoted = createStoredMap('quoted', userId, isQuotation)
  const of = (channelId: string) => quoted.all().get(channelId)
  const forget = (channelId: string, messageId: string) => {
    if (of(channelId)?.id === messageId) quoted.set(channelId, undefined)
  }

  return {
    of,
    set: quoted.set,
    apply({ type, payload }: WireEvent) {
      if (type === 'DELETE_MESSAGE' || type === 'DELETE_DM_MESSAGE') forget(payload.channelId, payload.id)
    },
    /** Checks whether the message still exists, because it may have been deleted while this page was closed. */
    async check(channelId: string) {
      const messageId = of(channelId)?.id
      if (messageId === undefined) return
      try {
        await client.request('GET /messages/:messageId', { params: { messageId } })
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error
        if (error.status === 403 || error.status === 404) forget(channelId, messageId)
      }
    },
    close: quoted.close,
  }
}

function isQuotation(value: unknown): value is Quotation {
  const { id, userName } = propertiesOf(value)
  return typeof id === 'string' && typeof userName === 'string'
}
