import type { WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'

const shownMs = 5_000
const checkEveryMs = 1_000

/** The names of other people who are typing, by channel or conversation. Each name is shown for some seconds. */
export function createTyping(myId: string) {
  const byChannel = signal<ReadonlyMap<string, ReadonlyMap<string, { userName: string; until: number }>>>(new Map())
  const timer = setInterval(expire, checkEveryMs)

  function change(channelId: string, userId: string, entry: { userName: string; until: number } | undefined) {
    const people = new Map(byChannel.value.get(channelId))
    if (entry) people.set(userId, entry)
    else if (!people.delete(userId)) return
    byChannel.value = new Map(byChannel.value).set(channelId, people)
  }

  function expire() {
    const now = Date.now()
    for (const [channelId, people] of byChannel.value) {
      for (const [userId, { until }] of people) if (until < now) change(channelId, userId, undefined)
    }
  }

  return {
    names: (channelId: string) => [...(byChannel.value.get(channelId)?.values() ?? [])].map(({ userName }) => userName),
    apply(event: WireEvent) {
      if (event.type === 'TYPING' && event.payload.userId !== myId) {
        const { channelId, userId, userName } = event.payload
        change(channelId, userId, { userName, until: Date.now() + shownMs })
      }
      if (event.type === 'NEW_MESSAGE' || event.type === 'NEW_DM_MESSAGE') {
        change(event.payload.channelId, event.payload.author.id, undefined)
      }
    },
    close: () => clearInterval(timer),
  }
}
