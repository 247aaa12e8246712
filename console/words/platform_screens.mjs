// Names of the platform's screens.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'platform.title': 'Platform',
    'platform.dashboard': 'Dashboard',
    'platform.start': 'First steps',
    'platform.nodes': 'System health',
    'users.title': 'Users',
    'settings.title': 'Settings',
    'money.title': 'Credit balances',
    'money.plans': 'Plans',
    'money.entitlements': 'Limits and features',
    'flags.title': 'Feature flags',
    'log.title': 'Access log',
    'mail.title': 'Email',
    'gateway.title': 'Gateway',
    'codes.title': 'Codes and referrals',
  },
  {
    'platform.title': '平台',
    'platform.dashboard': '概览',
    'platform.start': '初始设置',
    'platform.nodes': '系统健康',
    'users.title': '用户',
    'settings.title': '设置',
    'money.title': '积分余额',
    'money.plans': '套餐',
    'money.entitlements': '限额与功能',
    'flags.title': '功能开关',
    'log.title': '访问日志',
    'mail.title': '邮件',
    'gateway.title': '网关',
    'codes.title': '兑换码与邀请',
  },
);
