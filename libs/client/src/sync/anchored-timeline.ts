import { createTimeline, type Page } from './timeline.ts'

/** A position in a timeline that somebody looks at: the newest messages, or the messages around one of them. */
export type Anchor = 'newest' | { id: string } | { seq: number }

/** A page of the timeline of the channel, or of the thread under `parentId`. */
export interface FetchedPage extends Page {
  parentId?: string | undefined
  /** The anchor for which the page was fetched. */
  anchor?: Anchor | undefined
  /** For a page next to a run: the `seq` at which the run ends. */
  beside?: { after?: number; before?: number } | undefined
}

export type AnchoredTimeline = ReturnType<typeof createAnchoredTimeline>

/** A timeline, and the anchors at which its messages must be loaded. */
export function createAnchoredTimeline(onReordered: () => void) {
  const timeline = createTimeline(onReordered)
  /** Also those that are loaded. After everything was cleared, they must be loaded again. */
  let wanted: Anchor[] = []
  let missing: Anchor[] = []

  return {
    ...timeline,
    /**
     * Makes sure that the messages at this anchor are loaded. It replaces the anchor that was wanted before, but `newest` stays wanted beside a
     * message.
     */
    want(anchor: Anchor) {
      wanted = anchor === 'newest' ? [anchor] : [...wanted.filter((each) => each === 'newest'), anchor]
      missing = wanted.filter((each) => !timeline.isLoaded(seqOf(each)))
    },
    /** The wanted anchors that are not loaded yet. */
    missing: () => missing,
    /** Does not want the anchor any more. */
    forget(anchor: Anchor) {
      wanted = wanted.filter((each) => each !== anchor)
      missing = missing.filter((each) => each !== anchor)
    },
    cover(page: FetchedPage) {
      timeline.cover(page, page.beside)
      missing = missing.filter((anchor) => anchor !== page.anchor)
    },
    clear() {
      timeline.clear()
      missing = wanted
    },
  }
}

/** The `seq` at which a timeline is asked for the anchor. When only the id of the message is known, it is NaN, which no run contains. */
const seqOf = (anchor: Anchor) => (typeof anchor === 'object' ? ('seq' in anchor ? anchor.seq : Number.NaN) : undefined)
