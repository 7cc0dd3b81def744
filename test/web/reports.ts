/** Posts of Alertmanager, Grafana and GitHub Actions with their usual templates. */

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })
const plain = (text: string) => ({ type: 'plain_text', text })
const raw = (text: string) => ({ type: 'raw_text', text })

export const alertmanager = {
  username: 'Alertmanager',
  icon_emoji: ':rotating_light:',
  attachments: [
    {
      color: 'danger',
      title: '[FIRING:2] DiskAlmostFull (db-3 critical)',
      title_link: 'https://alerts.example.com/#/alerts',
      text: '*Alert:* Disk of `db-3` is 92 % full\n*Description:* It will be full in about 4 hours.',
      fields: [
        { title: 'Severity', value: 'critical', short: true },
        { title: 'Instance', value: 'db-3:9100', short: true },
        { title: 'Since', value: '06:52', short: true },
        { title: 'Team', value: 'storage', short: true },
      ],
      actions: [{ type: 'button', text: 'Runbook', url: 'https://runbooks.example.com/disk' }],
      footer: 'Prometheus',
    },
  ],
}

export const grafana = {
  username: 'Grafana v12',
  icon_emoji: ':bar_chart:',
  attachments: [
    {
      color: '#36a64f',
      title: '[RESOLVED] Time to answer of the gateway',
      title_link: 'https://grafana.example.com/alerting/1',
      text: '**Value:** p95=84 ms\nLabels:\n - service = gateway\n - region = eu',
      image_url: 'https://grafana.example.com/render/1.png',
      footer: 'Grafana v12.1',
    },
  ],
}

export const github = {
  username: 'GitHub Actions',
  icon_emoji: ':octocat:',
  text: 'CI failed',
  blocks: [
    { type: 'header', text: plain('CI failed on main') },
    {
      type: 'section',
      text: mrkdwn('<https://github.example.com/northwind/app/actions/runs/1|northwind/app #1482> by *emil*'),
      fields: [
        mrkdwn('*Branch*\n`main`'),
        mrkdwn('*Commit*\n`8f2c1ab` Retry sooner'),
        mrkdwn('*Job*\ntest (solo)'),
        mrkdwn('*Took*\n6 min 12 s'),
      ],
      accessory: { type: 'button', text: plain('Open run'), url: 'https://github.example.com/northwind/app/1' },
    },
    {
      type: 'table',
      rows: [
        ['job', 'result', 'duration', 'runner', 'first failure'].map(raw),
        ['check', 'passed', '48 s', 'ubuntu-24.04', ''].map(raw),
        ['test (solo)', 'failed', '6 min 12 s', 'ubuntu-24.04', 'retries.test.ts: waits too long'].map(raw),
        ['test (cluster)', 'passed', '9 min 3 s', 'ubuntu-24.04', ''].map(raw),
      ],
    },
    {
      type: 'actions',
      elements: [
        { type: 'button', text: plain('Run again'), value: 'again', style: 'primary' },
        { type: 'button', text: plain('Show log'), url: 'https://github.example.com/northwind/app/1/log' },
      ],
    },
    { type: 'divider' },
    { type: 'context', elements: [mrkdwn('triggered by `push`'), mrkdwn('workflow *ci.yml*')] },
  ],
}
