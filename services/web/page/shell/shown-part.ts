import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { channelAddress, navigate } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { attempt } from '../ui/problems.ts'
import { useStable } from '../ui/stable.ts'
import { useTargetSeq } from './target-seq.ts'

/** Which part of a channel is shown: its newest messages, those around the message of the address, or those around the first unread one. */
export function useShownPart(workspace: Workspace, id: string, messageId: string | undefined) {
  /** The `seq` of the first unread message, while the messages around it are shown. */
  const unreadSeq = useSignal<number | undefined>(undefined)
  const targetSeq = useTargetSeq(workspace, id, messageId)
  const seq = targetSeq ?? unreadSeq.value
  /** The number of times that the person has chosen the part. */
  const choices = useRef(0)
  const choose = (firstUnreadSeq?: number) => {
    choices.current++
    unreadSeq.value = firstUnreadSeq
  }
  useEffect(() => choose(), [messageId])

  return {
    position: seq === undefined ? undefined : { seq },
    /** Whether the place of the message of the address is not known yet. */
    isUnknown: messageId !== undefined && targetSeq === undefined,
    target: messageId === undefined ? (unreadSeq.value === undefined ? undefined : 'unread') : { messageId },
    /** Another part of the channel is another list, so it begins at its own position. */
    key: messageId ?? (unreadSeq.value === undefined ? 'newest' : 'unread'),
    openNewest: useStable(() => {
      choose()
      if (messageId !== undefined) navigate(channelAddress(id))
    }),
    /** Fetches the messages around the first unread one, and shows them. */
    openUnread(firstUnreadSeq: number) {
      const choice = ++choices.current
      const opened = workspace.openAround(id, { seq: firstUnreadSeq }).then(() => {
        // The person may have chosen another part meanwhile.
        if (choice === choices.current) choose(firstUnreadSeq)
      })
      void attempt(opened)
    },
  } as const
}
