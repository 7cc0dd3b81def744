import { useEffect } from 'preact/hooks'

const everyMs = 500

/**
 * Calls `report` with the `seq` of the newest message that the person has seen, while `isUnread`: every half second while new messages
 * come, and immediately when it ends, because the person looks at something else, scrolls up or marks a message as unread. With
 * `keepalive`, the page is being closed.
 */
export function useReportSeen(
  isUnread: boolean,
  seenSeq: { current: number },
  report: (seq: number, options: { keepalive?: boolean }) => void,
) {
  useEffect(() => {
    if (!isUnread) return
    let reportedSeq = 0
    const reportNew = (options = {}) => {
      if (seenSeq.current <= reportedSeq) return
      reportedSeq = seenSeq.current
      report(reportedSeq, options)
    }
    const onPageHide = () => reportNew({ keepalive: true })
    const timer = setInterval(reportNew, everyMs)
    addEventListener('pagehide', onPageHide)
    return () => {
      clearInterval(timer)
      removeEventListener('pagehide', onPageHide)
      reportNew()
    }
  }, [isUnread])
}
